// A plain text table: headings, then rows, columns as wide as their widest cell. Cells are made printable
// here. Plain value, any thread.
#pragma once

#include <string>
#include <vector>

namespace rdmove::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> headings);
  /// An empty cell shows as "-".
  void add(std::vector<std::string> cells);
  /// Every line starts with `indent` blanks and ends without blanks.
  std::string str(std::size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rdmove::cli
