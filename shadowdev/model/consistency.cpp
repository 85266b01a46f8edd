// What must hold between the objects of a snapshot.
#include <fmt/format.h>

#include <map>

#include "shadowdev/model/snapshot.hpp"

namespace rdmove::shadow::model {
namespace {

enum class Kind : std::uint8_t { Context, Pd, Mr, Channel, Cq, Srq, Ah, Qp, Cm };
constexpr const char* kNames[] = {"context", "pd", "mr", "channel", "cq", "srq", "ah", "qp", "cm"};
constexpr std::uint32_t k24Bits = 0xFFFFFF;

template <class E>
std::uint32_t raw(E value) {
  return static_cast<std::uint32_t>(value);
}

/// Collects the first complaint.
class Check {
 public:
  void object(Kind kind, ObjectId id) {
    current_ = fmt::format("{} {}", kNames[static_cast<std::size_t>(kind)], raw(id));
    current_id_ = id;
    if (id == kNone) complain("has no id");
    if (!kinds_.emplace(id, kind).second) complain("has the id of another object");
  }
  /// A reference may only lead back, so nothing can lead round in a circle.
  void refers(const char* field, ObjectId to, Kind kind, bool may_be_none = false) {
    if (to == kNone) {
      if (!may_be_none) complain(fmt::format("has no {}", field));
      return;
    }
    if (raw(to) >= raw(current_id_))
      return complain(fmt::format("refers with {} to {}, which was not made before it", field, raw(to)));
    const auto found = kinds_.find(to);
    if (found == kinds_.end() || found->second != kind)
      complain(fmt::format("refers with {} to {}, which is no {}", field, raw(to),
                           kNames[static_cast<std::size_t>(kind)]));
  }
  void that(bool holds, const char* what) {
    if (!holds) complain(what);
  }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = fmt::format("{} {}", current_, what);
  }
  std::map<ObjectId, Kind> kinds_;
  std::string current_;
  ObjectId current_id_{};
  std::string complaint_;
};

void check_queue_pair(Check& check, const QueuePair& qp) {
  check.object(Kind::Qp, qp.id);
  check.refers("pd", qp.pd, Kind::Pd);
  check.refers("send_cq", qp.send_cq, Kind::Cq);
  check.refers("recv_cq", qp.recv_cq, Kind::Cq);
  check.refers("srq", qp.srq, Kind::Srq, true);
  check.that(qp.type == QpType::Rc || qp.type == QpType::Uc || qp.type == QpType::Ud,
             "has a type that is not shadowed");
  check.that(qp.state <= QpState::Err && qp.phase <= Phase::Waiting, "is in a state that there is not");
  for (const auto number : {qp.number, qp.physical_number, qp.peer_number, qp.peer_physical_number})
    check.that(raw(number) <= k24Bits, "has a number of more than 24 bits");
  check.that(raw(qp.send_psn) <= k24Bits && raw(qp.receive_psn) <= k24Bits,
             "has a packet sequence number of more than 24 bits");
  check.that(qp.held.size() <= qp.max_send_wr, "holds more sends than its queue takes");
  check.that(qp.receives.size() <= qp.max_recv_wr, "holds more receives than its queue takes");
  for (const Send& send : qp.held) {
    check.refers("ah", send.ah, Kind::Ah, true);
    check.that(send.from.size() <= qp.max_send_sge, "holds a send with more entries than its queue takes");
  }
}

}  // namespace

Result<void> is_consistent(const Process& process) {
  Check check;
  for (const Context& one : process.contexts) {
    check.object(Kind::Context, one.id);
    check.that(one.presence <= Presence::Lost, "is in a state that there is not");
  }
  for (const ProtectionDomain& one : process.pds) {
    check.object(Kind::Pd, one.id);
    check.refers("context", one.context, Kind::Context);
  }
  for (const MemoryRegion& one : process.regions) {
    check.object(Kind::Mr, one.id);
    check.refers("pd", one.pd, Kind::Pd);
    check.that(one.address + one.length >= one.address, "goes round the end of memory");
  }
  for (const CompletionChannel& one : process.channels) {
    check.object(Kind::Channel, one.id);
    check.refers("context", one.context, Kind::Context);
  }
  for (const CompletionQueue& one : process.cqs) {
    check.object(Kind::Cq, one.id);
    check.refers("context", one.context, Kind::Context);
    check.refers("channel", one.channel, Kind::Channel, true);
    check.that(one.armed <= Armed::Any, "is armed in a way that there is not");
  }
  for (const SharedReceiveQueue& one : process.srqs) {
    check.object(Kind::Srq, one.id);
    check.refers("pd", one.pd, Kind::Pd);
    check.that(one.receives.size() <= one.max_wr, "holds more receives than it takes");
  }
  for (const AddressHandle& one : process.ahs) {
    check.object(Kind::Ah, one.id);
    check.refers("pd", one.pd, Kind::Pd);
  }
  for (const QueuePair& one : process.qps) check_queue_pair(check, one);
  for (const CmShell& one : process.shells) {
    check.object(Kind::Cm, one.id);
    check.refers("qp", one.qp, Kind::Qp, true);
  }
  if (!check.complaint().empty()) return problem(ProblemCode::BadInput, check.complaint());
  return {};
}

}  // namespace rdmove::shadow::model
