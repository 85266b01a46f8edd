#include "coordinator/cli/format/table.hpp"

#include <algorithm>

#include "coordinator/cli/format/printable.hpp"

namespace rdmove::cli {
namespace {

std::size_t columnsOf(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

Table::Table(std::vector<std::string> headings) {
  rows_.push_back(std::move(headings));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(rows_.front().size());
  for (std::string& cell : cells) cell = cell.empty() ? "-" : printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::str(std::size_t indent) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columnsOf(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - columnsOf(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace rdmove::cli
