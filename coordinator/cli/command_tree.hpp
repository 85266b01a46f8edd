// The commands and their options as plain data: what the man pages and the completion are made from, so that
// neither can differ from the parser. Plain values, any thread.
#pragma once

#include <string>
#include <vector>

namespace rdmove::cli {

struct OptionDoc {
  std::string name;        ///< "--timeout", or a positional's "VM"
  std::string short_name;  ///< "-h" or empty
  std::string value;       ///< "S", empty for a flag; "a|b|c" lists all there are
  std::string help;
  bool positional = false;
  bool required = false;
  bool repeatable = false;
};

struct CommandDoc {
  std::string name;  ///< "rdmove", "migrate"
  std::string summary;
  std::string details;             ///< paragraphs, for the end of --help and for the man page; may be empty
  std::vector<OptionDoc> options;  ///< positionals first, in their order
  std::vector<CommandDoc> commands;
};

}  // namespace rdmove::cli
