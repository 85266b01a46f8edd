// What the connections and listeners of one loop share: who an event is for, who is called by which id,
// devices, the recall listener, and whether the agent holds us. Owned by LoopCore; the loop's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "guestagent/failover/connection/backlog_gate.hpp"
#include "guestagent/failover/connection/device_table.hpp"
#include "guestagent/failover/connection/poller.hpp"
#include "guestagent/failover/connection/rdma_port.hpp"
#include "guestagent/failover/connection/reaper.hpp"
#include "guestagent/failover/connection/timer_queue.hpp"
#include "guestagent/failover/connection/traffic_report.hpp"
#include "guestagent/failover/connection/wire.hpp"

namespace rdmove::failover {
class ConnectionCore;
class ListenerCore;
}  // namespace rdmove::failover

namespace rdmove::failover::conn {

/// Owns an endpoint: a connection, a listener, a canary.
class EndpointOwner {
 public:
  virtual ~EndpointOwner() = default;
  virtual void cm_event(CmEvent& event) = 0;
  virtual void completion_event() {}
  virtual void queue_failed() {}  ///< IBV_EVENT_QP_FATAL and the like
};

/// Decides about a request that is no connection's of ours.
class FirstCallTaker {
 public:
  virtual ~FirstCallTaker() = default;
  virtual void first_call(CmEvent& event, const Hello& hello) = 0;
};

struct HubServices {
  RdmaPort& port;
  Reaper& reaper;
  Poller& poller;
  TimerQueue& timers;
  const Clock& clock;
  Random& random;
};

class Hub : public EndpointOwner {
 public:
  Hub(const HubServices& services, std::uint16_t backlog);
  ~Hub() override;

  RdmaPort& port() { return services_.port; }
  Reaper& reaper() { return services_.reaper; }
  TimerQueue& timers() { return services_.timers; }
  Random& random() { return services_.random; }
  BacklogGate& gate() { return gate_; }
  DeviceTable& devices() { return devices_; }
  MemoryPool& memory() { return memory_; }
  [[nodiscard]] Time now() const { return services_.clock.now(); }
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  [[nodiscard]] std::uint16_t backlog() const { return backlog_; }

  /// RDMA CM's channel and the recall listener, if they are not there yet and a device is.
  Result<void> open();
  [[nodiscard]] std::uint16_t recall_port() const { return recall_port_; }

  Result<std::unique_ptr<Endpoint>> make_endpoint(EndpointOwner& owner);
  void adopt(const Endpoint& endpoint, EndpointOwner& owner);
  [[nodiscard]] EndpointOwner* owner_of(EndpointNumber number) const;
  /// Takes it out of the book: no event of it reaches anybody any more.
  std::unique_ptr<Endpoint> disown(std::unique_ptr<Endpoint> endpoint);
  /// To the reaper. Its owner hears nothing of it any more, but for `done`.
  void retire(std::unique_ptr<Endpoint> endpoint, Reaper::Done done = {});
  void refuse(std::unique_ptr<Endpoint> incoming, RefusalCode why);

  void add(ConnectionCore& connection);
  void remove(ConnectionCore& connection);
  void add(ListenerCore& listener) { listeners_.insert(&listener); }
  void remove(ListenerCore& listener) { listeners_.erase(&listener); }
  [[nodiscard]] TrafficReport report() const;
  void on_change(std::function<void()> tell) { on_change_ = std::move(tell); }
  /// Something that report() says is another.
  void changed() {
    if (on_change_) on_change_();
  }
  void for_each(const std::function<void(ConnectionCore&)>& visit);
  /// One for which it holds; `holds` calls nobody.
  [[nodiscard]] bool has_any(const std::function<bool(const ConnectionCore&)>& holds) const;
  void listen_for_first_calls(EndpointNumber listener, FirstCallTaker& taker);
  void stop_first_calls(EndpointNumber listener) { takers_.erase(listener); }

  /// When the peer's process last called for one of its connections, if that was not long ago.
  [[nodiscard]] std::optional<Time> last_recall_of(std::uint64_t incarnation) const;

  void take_events();                       ///< all that RDMA CM has
  void device_left(DeviceNumber device);    ///< DEVICE_REMOVAL of anybody there
  void device_failed(DeviceNumber device);  ///< IBV_EVENT_DEVICE_FATAL
  void way_appeared();

  [[nodiscard]] bool is_held() const { return held_; }
  void hold();
  void unhold();
  void let_go();  ///< librdmacm's contexts of what has left
  void let_go_of(DeviceNumber device) { services_.port.let_go_of(device); }
  void end();  ///< the loop goes: all that is open, to the reaper

 private:
  void cm_event(CmEvent& event) override;  // of the recall listener
  void requested(CmEvent& event);
  void note_recall(std::uint64_t incarnation);
  Result<void> open_recall_listener();

  HubServices services_;
  const std::uint16_t backlog_;
  const std::uint64_t incarnation_;
  std::unordered_map<EndpointNumber, EndpointOwner*> owners_;
  std::unordered_map<EndpointNumber, FirstCallTaker*> takers_;
  std::unordered_multimap<std::uint64_t, ConnectionCore*> connections_;  // both ends may be ours
  std::unordered_map<std::uint64_t, Time> recalls_;                      // the last of each process, lately
  std::unordered_set<ListenerCore*> listeners_;
  TrafficReport past_;  // of connections that have ended
  BacklogGate gate_;
  DeviceTable devices_;
  MemoryPool memory_;
  std::unique_ptr<Endpoint> recall_listener_;
  std::uint16_t recall_port_ = 0;
  Poller::Watch watch_ = Poller::Watch::none;
  std::function<void()> on_change_;
  bool held_ = false;
};

}  // namespace rdmove::failover::conn
