// The longer words on each command: the end of its --help, and the DESCRIPTION of its man page. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace rdmove::cli {

/// Paragraphs of text; lines that start with two blanks are examples. Empty for a name without any.
std::string detailsOf(std::string_view command);

}  // namespace rdmove::cli
