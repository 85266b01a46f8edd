// Records of which the subnet administrator keeps one per port, wanted by several functions: multicast
// memberships and event subscriptions. Functions are counted here; the administrator hears only what changes
// the port's own state.
//
//   join   covered by what the port has: answered here. Else the port asks, and the function gets the answer.
//   leave  others still need it: answered here. The last one goes out.
//   port   has less than the functions need (after put_in(), after a new subnet manager): asks by itself.
//          Has more (a function was taken out): leaves by itself.
//
// Per record at most one request is under way; others wait in their order. Owned by the port; no threads.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "shadowdev/gsi/record_kind.hpp"
#include "shadowdev/gsi/verdict.hpp"

namespace rdmove::gsi {

struct SharedLimits {
  std::size_t records_per_function = 256;  ///< memberships (or subscriptions) of one function
  std::size_t waiting_per_function = 8;    ///< requests of one function that wait for the administrator
  int attempts = 4;                        ///< of the port, for one request
  milliseconds attempt{1'000};             ///< until the next one
};

/// What a function holds, as it is taken out and put in.
struct HeldRecord {
  RecordBytes record{};
  JoinState state;
  bool operator==(const HeldRecord&) const = default;
};

/// What happened to a function's record without its asking. The record that is told with it has the state
/// that is left.
enum class RecordChange : std::uint8_t {
  Lost,     ///< the administrator refused it at this port, or is silent
  Changed,  ///< the group came back with other values (its MLID, its Q_Key): the guest has the old ones
};

/// What the records need of their port.
class RecordDesk {
 public:
  virtual ~RecordDesk() = default;
  /// Sends a request of the port's own to the subnet administrator. The answer comes to answered() with the
  /// same TransactionID. A second request with an id that is under way is a retry of it. False: no room now.
  virtual bool ask_administrator(const Mad& request) = 0;
  virtual void answer(FunctionId function, const Datagram& request, const Mad& answer) = 0;
  virtual void changed(FunctionId function, const RecordBytes& record, RecordChange what,
                       std::uint16_t status) = 0;
  [[nodiscard]] virtual TimePoint now() const = 0;
  [[nodiscard]] virtual TransactionId fresh_id() = 0;
};

class SharedRecords {
 public:
  SharedRecords(const RecordKind& kind, const SharedLimits& limits, RecordDesk& desk)
      : kind_(kind), limits_(limits), desk_(desk) {}

  /// A function's request to join or leave. `own` are its GIDs.
  Verdict ask(FunctionId function, const Datagram& request, const std::vector<Gid>& own);
  /// The administrator's answer to a request of ask_administrator().
  void answered(const Mad& answer);
  void tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  /// A function is gone: what waits for it is dropped, what only it needed is left.
  void forget(FunctionId function);
  [[nodiscard]] std::vector<HeldRecord> held_by(FunctionId function) const;
  /// A function came with these. The port asks for what it does not have.
  void hold(FunctionId function, const std::vector<HeldRecord>& records);
  /// The subnet manager has forgotten everything (or is another): all is asked for anew.
  void ask_again();

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] std::size_t waiting(FunctionId function) const;
  /// The port's state at the administrator; empty if it has none.
  [[nodiscard]] JoinState port_state(const RecordKey& key) const;
  using Holders = std::map<FunctionId, JoinState>;
  /// Each record that the port has.
  void for_each(const std::function<void(const RecordBytes&, const Holders&)>& call) const;

 private:
  struct Ask {
    FunctionId function;
    Datagram request;
    Wanted wanted;
  };
  struct Flight {
    Mad request{};
    bool is_join = false;
    bool is_for_ask = false;   // of the queue's front
    bool is_nameless = false;  // the administrator chooses the key
    bool is_stale = false;     // asked of an administrator that has been replaced since
    JoinState state{};
    int attempts = 1;
    TimePoint deadline{};
  };
  struct Item {
    RecordBytes record{};
    bool is_known = false;  // record is what the administrator said
    JoinState port;
    JoinState doubt;  // perhaps the port has this too: a join was never answered. It is left, not relied on
    Holders holders;
    std::deque<Ask> queue;
    std::optional<Flight> flight;
    [[nodiscard]] JoinState needed() const;
  };

  Verdict refuse(FunctionId function, const Datagram& request, SaStatus status);
  void advance(const RecordKey& key);
  bool serve_front(const RecordKey& key, Item& item);
  bool serve_join(const RecordKey& key, Item& item);
  bool serve_leave(const RecordKey& key, Item& item);
  void launch(const RecordKey& key, Item& item, Flight flight);
  void joined(RecordKey key, const Mad& answer);
  void not_joined(const RecordKey& key, std::uint16_t status);
  void lose(Item& item, JoinState state, std::uint16_t status);
  void left(Item& item, const Flight& flight);
  void gave_up(const RecordKey& key);
  void pop_front(Item& item);
  void unblock();

  const RecordKind& kind_;
  SharedLimits limits_;
  RecordDesk& desk_;
  std::map<RecordKey, Item> items_;
  std::unordered_map<std::uint64_t, RecordKey> flights_;  // by the TransactionID of the port's request
  std::deque<RecordKey> blocked_;                         // wanted to ask when there was no room
  std::array<std::size_t, 256> waiting_{};
  std::array<std::size_t, 256> held_{};  // records per function
  std::uint64_t nameless_ = 0;
};

}  // namespace rdmove::gsi
