// Text inside XML, SVG and HTML: of an element or of an attribute in either kind of quotes. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace rdmove {

std::string escapedMarkup(std::string_view text);

}  // namespace rdmove
