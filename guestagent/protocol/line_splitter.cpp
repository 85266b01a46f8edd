#include "guestagent/protocol/line_splitter.hpp"

namespace rdmove::protocol {

void LineSplitter::push(std::string_view bytes, const OnLine& on_line) {
  const auto generation = generation_;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    keep(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);

    std::string line;
    line.swap(pending_);
    if (overlong_) {
      overlong_ = false;
      ++dropped_;
      continue;
    }
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    on_line(line);
    if (generation != generation_) return;
  }
}

void LineSplitter::reset() {
  pending_.clear();
  overlong_ = false;
  ++generation_;
}

void LineSplitter::keep(std::string_view part) {
  if (overlong_) return;
  if (pending_.size() + part.size() > max_line_) {
    overlong_ = true;
    pending_.clear();
    pending_.shrink_to_fit();
    return;
  }
  pending_.append(part);
}

}  // namespace rdmove::protocol
