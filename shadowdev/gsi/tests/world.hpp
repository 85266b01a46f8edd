// Two shared ports on one subnet with an administrator and a peer host, and the guests that live on the
// ports: what they sent, what may come back to them, and what they hold. A guest is a soul: it keeps its GID
// and its knowledge when it moves.
#pragma once

#include <map>
#include <set>
#include <string>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {

// What both halves of the world need.
inline constexpr std::size_t kSoulTag = 180;  // in a REQ's or REP's private data
inline constexpr std::size_t kLocalTag = 184;
inline constexpr std::uint16_t kTraps[] = {64, 65, InformInfo::kAll};
inline InformInfo wish_for(std::uint16_t trap) {
  return trap == InformInfo::kAll ? InformInfo{} : for_trap(trap);
}
inline std::uint64_t number(TransactionId id) {
  return static_cast<std::uint64_t>(id);
}
inline Gid soul_gid(std::size_t soul) {
  return Gid::from(kPrefix, 0x500 + soul);
}

class World {
 public:
  static constexpr std::size_t kSouls = 4;
  struct Totals {
    std::uint64_t answers = 0, joins = 0, leaves = 0, asked = 0, reports = 0, cm = 0, moves = 0, lost = 0;
  };

  /// lossless: nothing is lost or late, and the administrator stays. Then it must know exactly what is held,
  /// else at least that.
  World(Totals& totals, bool is_lossless);

  void query(std::size_t soul, std::uint8_t which);
  void join(std::size_t soul, std::uint8_t which);
  void leave(std::size_t soul, std::uint8_t which);
  void subscribe(std::size_t soul, std::uint8_t which, bool on);
  void connect(std::size_t soul, std::uint8_t which);
  void disconnect(std::size_t soul, std::uint8_t which);
  void peer_speaks(std::uint8_t which);
  void report(std::uint8_t which);
  void move(std::size_t soul);
  void pass(milliseconds time);
  void lose(std::uint8_t which);
  void repeat_answer(std::uint8_t which);
  void administrator_is_replaced();
  /// One MAD goes one step on its way, on each port.
  void flow();
  /// Everything arrives, nothing is lost any more; then what the administrator has must be what is held.
  void come_to_rest();

  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  struct Soul {
    std::size_t port = 0;
    FunctionId function{};
    std::map<std::uint64_t, std::uint64_t> queries;  // TransactionID to serial, unanswered
    struct Wish {
      Gid group;
      JoinState state;
      bool is_join;
    };
    std::map<std::uint64_t, Wish> wishes;  // unanswered joins and leaves
    std::map<std::uint64_t, std::pair<std::uint16_t, bool>> informs;
    std::map<Gid, JoinState> held;
    std::set<std::uint16_t> traps;
    std::uint64_t next_id = 1;
    std::uint32_t next_comm = 1;
  };
  struct Host {  // a port of the subnet: what is on its way to and from it
    std::unique_ptr<SharedPort> port;
    Gid gid;
    Lid lid{};
    std::deque<Datagram> out;  // left the port
    std::deque<Datagram> in;   // about to arrive
  };
  struct Connection {  // as the peer host sees it
    CommId at_port{};
    CommId own{};
    std::size_t soul = 0;
    std::uint32_t local = 0;
  };

  void fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
  }
  void check(bool good, const std::string& what) {
    if (!good) fail(what);
  }
  Soul& at(std::size_t soul) { return souls_[soul]; }
  SharedPort& port_of(std::size_t soul) { return *hosts_[souls_[soul].port].port; }
  void send(std::size_t soul, Datagram datagram);
  void collect(Host& host);
  void fetch();
  void fetched(std::size_t soul, const Datagram& datagram);
  void fetched_answer(std::size_t soul, const Mad& mad);
  void fetched_cm(std::size_t soul, const Mad& mad);
  void administer(Host& host, const Datagram& request);
  void peer_hears(Host& host, const Datagram& message);
  Datagram path_answer(const Datagram& request) const;
  void check_limits();
  void check_memberships();

  Totals& totals_;
  FakeTime time_;
  std::array<Host, 2> hosts_;
  std::array<Soul, kSouls> souls_;
  std::uint64_t serial_ = 0;
  std::uint64_t report_id_ = 1;
  bool is_lossless_;
  std::map<std::pair<Gid, Gid>, JoinState> members_;          // of group and port, at the administrator
  std::map<Gid, std::set<InformInfo::Bytes>> subscriptions_;  // by port
  std::vector<Connection> connections_;
  std::deque<std::pair<std::size_t, Datagram>> answered_;  // for repeats: host, answer
  std::string failure_;
};

}  // namespace rdmove::gsi::test
