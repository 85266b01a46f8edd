// Machines with RDMA devices that come and go, connected by a fabric; all of it by hand. What the real ones
// would punish is counted here as a fault: a new queue pair while an old one could still write, a device
// closed under its endpoints.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "guestagent/failover/connection/hub.hpp"
#include "guestagent/failover/connection/tests/manual_clock.hpp"

namespace rdmove::failover::conn::fake {

class SequenceRandom : public Random {
 public:
  explicit SequenceRandom(std::uint64_t seed) : state_(seed * 2654435761U + 1) {}
  std::uint64_t number() override {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_;
};

class EventFile {
 public:
  EventFile() : fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~EventFile() { close(fd); }
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  void set() const { eventfd_write(fd, 1); }
  void clear() const {
    eventfd_t count = 0;
    eventfd_read(fd, &count);
  }
  const int fd;
};

class FakePort;
class FakeEndpoint;

class FakeDevice : public Device {
 public:
  FakeDevice(FakePort& port, DeviceNumber number);
  ~FakeDevice() override;
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  [[nodiscard]] int completion_fd() const override { return completion_file_.fd; }
  [[nodiscard]] int async_fd() const override { return async_file_.fd; }
  [[nodiscard]] ibv_pd* protection_domain() const override { return nullptr; }
  std::optional<EndpointNumber> take_completion_event() override {
    return take(completions_, completion_file_);
  }
  std::optional<AsyncEvent> take_async_event() override { return take(async_events_, async_file_); }
  /// As the queues that are shared: named once, until it is taken.
  void complete(EndpointNumber number) {
    if (std::find(completions_.begin(), completions_.end(), number) == completions_.end())
      add(completions_, completion_file_, number);
  }
  void raise(const AsyncEvent& event) { add(async_events_, async_file_, event); }
  std::set<EndpointNumber> users;  ///< with a queue pair

 private:
  template <class T>
  static void add(std::deque<T>& queue, EventFile& file, T value) {
    queue.push_back(value);
    file.set();
  }
  template <class T>
  static std::optional<T> take(std::deque<T>& queue, EventFile& file) {
    if (queue.empty()) {
      file.clear();
      return std::nullopt;
    }
    T first = queue.front();
    queue.pop_front();
    return first;
  }

  FakePort& port_;
  const DeviceNumber number_;
  EventFile completion_file_;
  EventFile async_file_;
  std::deque<EndpointNumber> completions_;
  std::deque<AsyncEvent> async_events_;
};

/// All machines by their address, and what went wrong.
struct Fabric {
  std::map<std::string, FakePort*> machines;
  std::map<EndpointNumber, FakeEndpoint*> endpoints;
  std::vector<std::string> faults;
  std::uint64_t last_number = 0;
  int lose_requests = 0;                ///< so many connect requests get lost
  int lose_answers = 0;                 ///< and so many answers
  int reject_stale = 0;                 ///< and so many requests are answered by the kernel: REJ 10
  std::vector<std::byte> last_request;  ///< its private data
  int lose_words = 0;  ///< so many sends and writes are done, and who asked for them never hears it
  int writes = 0;      ///< into a peer's memory, with at least one byte
  /// Acceptors hear of ESTABLISHED only when these are run, as when a crowd of calls is read first.
  bool keep_established = false;
  std::vector<std::function<void()>> kept_established;
  [[nodiscard]] FakeEndpoint* find(EndpointNumber number) const;
};

class FakePort : public RdmaPort {
 public:
  FakePort(Fabric& fabric, const std::string& address);
  ~FakePort() override;
  FakePort(const FakePort&) = delete;
  FakePort& operator=(const FakePort&) = delete;

  Result<void> open() override;
  [[nodiscard]] int fd() const override { return file_.fd; }
  std::optional<CmEvent> take_event() override;
  Result<std::unique_ptr<Endpoint>> make_endpoint() override;
  Result<std::shared_ptr<Device>> open_device(const Endpoint& on_it) override;
  void hold(DeviceNumber number) override { ++holds[number]; }
  void release(DeviceNumber number) override;
  void let_go_of_devices() override { ++let_go_count; }
  void let_go_of(DeviceNumber number) override {
    ++let_go_count;
    release(number);
  }

  void push(CmEvent event);
  void forget(EndpointNumber number);
  void remove_device();
  void add_device();
  void fail_device();      ///< IBV_EVENT_DEVICE_FATAL
  void break_queue(bool);  ///< some connected queue pair: a flush error, or QP_FATAL
  void disconnect_some();  ///< DISCONNECTED out of the blue
  [[nodiscard]] bool has_device() const { return device != DeviceNumber::none; }

  Fabric& fabric;
  const std::string address;
  DeviceNumber device = DeviceNumber::none;
  std::weak_ptr<FakeDevice> open_devices;
  int let_go_count = 0;
  std::map<DeviceNumber, int> holds;
  int calls = 0;  ///< connect requests that this machine has sent
  std::size_t live_devices = 0;

 private:
  EventFile file_;
  std::deque<CmEvent> events_;
};

class FakeEndpoint : public Endpoint {
 public:
  FakeEndpoint(FakePort& its_port, EndpointNumber number) : port(its_port), number_(number) {
    port.fabric.endpoints[number] = this;
  }
  ~FakeEndpoint() override;
  FakeEndpoint(const FakeEndpoint&) = delete;
  FakeEndpoint& operator=(const FakeEndpoint&) = delete;

  [[nodiscard]] EndpointNumber number() const override { return number_; }
  [[nodiscard]] DeviceNumber device() const override { return on; }
  [[nodiscard]] SocketAddress local() const override { return local_; }
  [[nodiscard]] SocketAddress peer() const override { return peer_; }
  Result<void> bind(const SocketAddress& address) override;
  Result<void> listen(int backlog) override;
  Result<void> resolve_address(const std::optional<SocketAddress>& from, const SocketAddress& to,
                               Milliseconds) override;
  Result<void> resolve_route(Milliseconds) override;
  Result<void> connect(const CallWords& words) override;
  Result<void> accept(const CallWords& words) override;
  void reject(std::span<const std::byte> private_data) override;
  void disconnect() override;
  Result<void> make_queue(const std::shared_ptr<Device>& device, const QueueShape& shape) override;
  [[nodiscard]] ibv_qp* queue_pair() const override { return queue_ ? &queue_->qp : nullptr; }
  Result<ibv_mr*> register_memory(void*, std::size_t, int) override;
  void deregister(ibv_mr* region) override;
  Result<ibv_mr*> use_memory(const std::shared_ptr<MemoryPiece>& piece) override;
  void shorten_rnr_timer() override { has_short_rnr_timer = true; }
  int poll(std::span<ibv_wc> completions) override;
  Result<void> post_send(ibv_send_wr& first) override;
  Result<void> post_receive(ibv_recv_wr& first) override;

  void complete(std::uint64_t id, ibv_wc_status status, ibv_wc_opcode opcode, std::uint32_t bytes = 0);
  [[nodiscard]] FakeEndpoint* partner() const { return port.fabric.find(partner_); }
  [[nodiscard]] bool is_on_live_device() const { return on != DeviceNumber::none && on == port.device; }

  FakePort& port;
  DeviceNumber on = DeviceNumber::none;
  bool listening = false;
  bool connected = false;
  bool broken = false;  ///< the queue pair is in ERR
  bool has_short_rnr_timer = false;

 private:
  friend class FakePort;
  struct Queue {
    ibv_qp qp{};
    std::shared_ptr<FakeDevice> device;
    struct Receive {
      std::uint64_t id = 0;
      ibv_sge part{};
    };
    std::deque<Receive> receives;
    std::deque<ibv_wc> completions;
  };
  EndpointNumber number_;
  EndpointNumber partner_ = EndpointNumber::none;
  SocketAddress local_;
  SocketAddress peer_;
  std::unique_ptr<Queue> queue_;
  struct Registered {
    ibv_mr region{};
    int access = 0;
  };
  /// Where a peer's one-sided operation goes; null if its key does not allow it.
  [[nodiscard]] std::byte* reached_by(const ibv_send_wr& request, std::size_t length, int right) const;
  std::deque<std::unique_ptr<Registered>> regions_;
  std::vector<std::shared_ptr<MemoryPiece>> pieces_;
};

/// Holds what it is given until it is told to go on.
class ManualReaper : public Reaper {
 public:
  void destroy(std::unique_ptr<Endpoint> endpoint, Done done) override;
  void close(std::shared_ptr<Device> device, std::vector<std::unique_ptr<Endpoint>> pins, Done done) override;
  void run_one(std::size_t which);
  void run_all();
  [[nodiscard]] std::size_t size() const { return work_.size(); }

 private:
  std::deque<std::function<void()>> work_;
};

}  // namespace rdmove::failover::conn::fake
