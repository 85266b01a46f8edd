// CM by comm_id. A REQ is sorted by the GID inside it, and everything after it by the receiver's comm_id.
// Guests choose theirs without knowing of each other, so each gets another one on the wire. Ids on the wire
// are drawn at random: those of a function that arrives from another port hardly ever meet the same number
// here, and where they do, the peer's own id and LID tell the two apart.
#pragma once

#include <map>
#include <random>
#include <unordered_map>

#include "shadowdev/gsi/cm_router.hpp"

namespace rdmove::gsi {

struct CmLimits {
  std::size_t connections_per_function = 1024;
  /// A connection request without an answer, and one that was heard and not answered.
  milliseconds setup{60'000};
  /// After a DREQ or REJ: late and repeated messages still find their function.
  milliseconds closing{30'000};
};

class CmByCommId final : public CmRouter {
 public:
  CmByCommId(const GidOwners& owners, const CmLimits& limits, std::uint64_t seed);
  Verdict outbound(FunctionId from, CmMessageType type, Datagram& datagram, TimePoint now) override;
  std::optional<FunctionId> inbound(CmMessageType type, Datagram& datagram, TimePoint now,
                                    Verdict& why) override;
  void expire(TimePoint now) override;
  [[nodiscard]] std::optional<TimePoint> next_deadline() const override;
  void forget(FunctionId function) override;
  [[nodiscard]] std::vector<CmConnection> connections(FunctionId function, TimePoint now) const override;
  void adopt(FunctionId function, const std::vector<CmConnection>& all, TimePoint now) override;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using EntryId = std::uint64_t;  // ascending: the smallest is the oldest
  struct Entry {
    FunctionId function{};
    std::optional<CommId> local;  // nothing: a REQ was heard, and the function has not answered it yet
    CommId on_wire{};
    std::optional<CommId> of_peer;
    Lid peer{};
    CmPhase phase = CmPhase::Asked;
    bool is_sidr = false;
    std::optional<TimePoint> deadline;
  };
  struct LocalKey {
    FunctionId function;
    CommId local;
    bool is_sidr;
    auto operator<=>(const LocalKey&) const = default;
  };
  struct PeerKey {
    Lid peer;
    CommId of_peer;
    FunctionId function;
    auto operator<=>(const PeerKey&) const = default;
  };

  Verdict begin(FunctionId from, CommId local, bool is_sidr, Datagram& datagram, TimePoint now);
  Verdict answer(FunctionId from, CmMessageType type, Datagram& datagram, TimePoint now);
  std::optional<FunctionId> hear_request(CmMessageType type, const Datagram& datagram, TimePoint now,
                                         Verdict& why);
  std::optional<FunctionId> hear_unnamed_reject(const Datagram& datagram, TimePoint now, Verdict& why);
  void learn(EntryId id, CmMessageType type, const Datagram& datagram, TimePoint now);

  [[nodiscard]] std::optional<EntryId> find_local(FunctionId function, CommId local, bool is_sidr) const;
  [[nodiscard]] std::optional<EntryId> find_heard(FunctionId function, Lid peer, CommId of_peer) const;
  [[nodiscard]] std::optional<EntryId> find_on_wire(CmMessageType type, const Datagram& datagram) const;
  bool make_room(FunctionId function);
  EntryId add(Entry entry);
  void remove(EntryId id);
  CommId draw();

  const GidOwners& owners_;
  CmLimits limits_;
  std::mt19937_64 random_;
  EntryId next_ = 1;
  std::map<EntryId, Entry> entries_;
  std::unordered_multimap<std::uint32_t, EntryId> by_wire_;
  std::map<LocalKey, EntryId> by_local_;
  std::map<PeerKey, EntryId> heard_;
  std::array<std::size_t, 256> count_{};
};

}  // namespace rdmove::gsi
