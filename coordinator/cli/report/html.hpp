// What the report's pages are made of: their frame and style, tables, tiles. All text is escaped here. Pure,
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmove::cli {

/// Up to the body; `title` and `state` are its heading.
std::string pageHead(std::string_view title, std::string_view state, std::string_view subtitle);
std::string pageFoot();

std::string escaped(std::string_view text);
std::string inMilliseconds(std::int64_t us);
/// A figure and what it is.
std::string tile(std::string_view value, std::string_view name);

class HtmlTable {
 public:
  /// A title that begins with '#' is of a column of numbers.
  explicit HtmlTable(std::vector<std::string> titles);
  void add(const std::vector<std::string>& cells, bool bad = false);
  std::string str() const;

 private:
  std::vector<std::string> titles_;
  std::string text_;
};

}  // namespace rdmove::cli
