#include "shadowdev/gsi/report_fanout.hpp"

#include <algorithm>

namespace rdmove::gsi {

unsigned ReportFanout::copy(const Notice::Bytes& notice, TransactionId id, unsigned expected, TimePoint now) {
  while (!recent_.empty() && (recent_.front().first + kWindow <= now || recent_.size() > kRemembered))
    recent_.pop_front();
  Recent* open = nullptr;
  for (Recent& recent : recent_) {
    if (recent.notice != notice) continue;
    if (std::find(recent.seen.begin(), recent.seen.end(), id) != recent.seen.end()) return 0;
    if (open == nullptr && recent.seen.size() < expected) open = &recent;
  }
  if (open == nullptr) open = &recent_.emplace_back(Recent{notice, {}, now});  // it happened again
  open->seen.push_back(id);
  return static_cast<unsigned>(open->seen.size());
}

}  // namespace rdmove::gsi
