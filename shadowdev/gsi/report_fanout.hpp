// Which copy of a report this is. The administrator sends a notice once for each of the port's subscriptions
// that it matches, and nothing in it says for which. A function with one matching subscription gets it once,
// one with two gets it twice, as if each had a port of its own. Bounded; owned by the port, no threads.
#pragma once

#include <deque>
#include <vector>

#include "shadowdev/gsi/inform.hpp"

namespace rdmove::gsi {

class ReportFanout {
 public:
  /// How long a notice is remembered: for the copies that follow, and for repeats of a report whose
  /// ReportResp was lost.
  static constexpr milliseconds kWindow{10'000};
  static constexpr std::size_t kRemembered = 256;

  /// The notice came with this TransactionID, and `expected` subscriptions of the port match it. 1 for the
  /// first copy of it, 2 for the second; 0 for a repeat of one that was counted.
  unsigned copy(const Notice::Bytes& notice, TransactionId id, unsigned expected, TimePoint now);

 private:
  struct Recent {
    Notice::Bytes notice;
    std::vector<TransactionId> seen;
    TimePoint first;
  };
  std::deque<Recent> recent_;
};

}  // namespace rdmove::gsi
