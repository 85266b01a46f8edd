// The peer that stays: answers every message, and keeps for each connection of each client when it last heard
// of it and how long it was without at its last change of queue pair.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "../clock.hpp"
#include "../status_file.hpp"
#include "device.hpp"
#include "options.hpp"

namespace many {
namespace {

using beat::Clock;
using beat::Id;
using beat::Time;

constexpr std::uint32_t kSlots = 4096;

struct Heard {
  std::uint64_t number = 0;
  std::uint64_t lost = 0;
  std::uint64_t repeated = 0;
  Time last{};
  std::uint32_t queue_pair = 0;
  double blackout_ms = 0;
};

class Server {
 public:
  Server(const Options& options, int signals) : options_(options), signals_(signals) {
    for (std::uint32_t slot = kSlots; slot-- > 0;) free_.push_back(slot);
  }

  int run() {
    auto channel = beat::make_channel();
    if (!channel) return complain(channel.error());
    channel_ = std::move(*channel);
    auto listener = beat::make_id(channel_);
    if (!listener) return complain(listener.error());
    listener_ = std::move(*listener);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(options_.port);
    if (rdma_bind_addr(listener_.get(), reinterpret_cast<sockaddr*>(&any)) != 0 ||
        rdma_listen(listener_.get(), 1024) != 0)
      return complain(beat::last_error("listen"));
    for (;;) {
      pollfd files[] = {{signals_, POLLIN, 0},
                        {channel_->fd, POLLIN, 0},
                        {device_ ? device_->completion_fd() : -1, POLLIN, 0}};
      ::poll(files, std::size(files), 200);
      if (files[0].revents != 0) break;
      while (auto event = beat::take_event(channel_)) handle(*event);
      if (device_) device_->poll([this](const Device::Completion& completion) { take(completion); });
      if (Clock::now() >= next_status_) keep_status();
    }
    keep_status();
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  struct Session {
    Id id;
    Hello hello;
  };

  static int complain(const std::string& error) {
    std::fprintf(stderr, "rdma-many: %s\n", error.c_str());
    return 1;
  }

  void handle(const beat::CmEvent& event) {
    switch (event.type) {
      case RDMA_CM_EVENT_CONNECT_REQUEST:
        return accept(event);
      case RDMA_CM_EVENT_DISCONNECTED:
      case RDMA_CM_EVENT_CONNECT_ERROR:
      case RDMA_CM_EVENT_UNREACHABLE:
      case RDMA_CM_EVENT_REJECTED:
      case RDMA_CM_EVENT_DEVICE_REMOVAL:
        if (const auto slot = slots_.find(event.id); slot != slots_.end()) drop(slot->second);
        return;
      default:
        return;
    }
  }

  void accept(const beat::CmEvent& event) {
    Id id(event.id);
    Hello hello;
    if (event.private_data.size() >= sizeof(hello))
      std::memcpy(&hello, event.private_data.data(), sizeof(hello));
    if (free_.empty() || event.private_data.size() < sizeof(hello) || hello.magic != Message::kMagic) {
      rdma_reject(id.get(), nullptr, 0);
      return;
    }
    if (!device_) {
      auto device = Device::open(id->verbs, kSlots);
      if (!device) return void(complain(device.error()));
      device_ = std::move(*device);
    }
    const std::uint32_t slot = free_.back();
    if (auto equipped = device_->equip(id.get(), slot); !equipped) return void(complain(equipped.error()));
    rdma_conn_param parameters{};
    parameters.retry_count = 6;
    parameters.rnr_retry_count = 7;
    const bool accepted = rdma_accept(id.get(), &parameters) == 0;
    free_.pop_back();
    slots_[id.get()] = slot;
    sessions_[slot] = {std::move(id), hello};
    if (!accepted) drop(slot);
  }

  void take(const Device::Completion& completion) {
    const auto session = sessions_.find(completion.slot);
    if (session == sessions_.end() || session->second.id->qp->qp_num != completion.queue_pair) return;
    if (!completion.succeeded) return drop(completion.slot);
    if (!completion.received) return;
    const Message& message = completion.message;
    if (!is_intact(message) || message.run != session->second.hello.run) ++wrong_;
    note(runs_[message.run][message.index], message, completion.queue_pair);
    rdma_cm_id* id = session->second.id.get();
    if (!device_->receive(id, completion.slot) || !device_->send(id, completion.slot, message))
      drop(completion.slot);
  }

  static void note(Heard& heard, const Message& message, std::uint32_t queue_pair) {
    const Time now = Clock::now();
    if (heard.queue_pair != 0 && heard.queue_pair != queue_pair)
      heard.blackout_ms = beat::to_ms(now - heard.last);
    if (message.number > heard.number + 1) heard.lost += message.number - heard.number - 1;
    if (message.number <= heard.number) ++heard.repeated;
    heard.number = std::max(heard.number, message.number);
    heard.queue_pair = queue_pair;
    heard.last = now;
  }

  void drop(std::uint32_t slot) {
    const auto session = sessions_.find(slot);
    if (session == sessions_.end()) return;
    slots_.erase(session->second.id.get());
    rdma_destroy_qp(session->second.id.get());
    sessions_.erase(session);
    free_.push_back(slot);
  }

  void keep_status() {
    next_status_ = Clock::now() + std::chrono::milliseconds(200);
    nlohmann::json runs = nlohmann::json::object();
    for (const auto& [run, connections] : runs_) {
      nlohmann::json blackouts = nlohmann::json::array();
      std::uint64_t lost = 0, received = 0;
      for (const auto& [index, heard] : connections) {
        blackouts.push_back(heard.blackout_ms);
        lost += heard.lost;
        received += heard.number;
      }
      runs[std::to_string(run)] = {{"blackouts_ms", blackouts}, {"lost", lost}, {"received", received}};
    }
    beat::write_status(
        options_.status_path,
        nlohmann::json{{"connected", sessions_.size()}, {"wrong", wrong_}, {"runs", runs}}.dump());
  }

  const Options& options_;
  const int signals_;
  beat::Channel channel_;
  Id listener_;
  std::unique_ptr<Device> device_;
  std::map<std::uint32_t, Session> sessions_;
  std::map<rdma_cm_id*, std::uint32_t> slots_;
  std::vector<std::uint32_t> free_;
  std::map<std::uint64_t, std::map<std::uint32_t, Heard>> runs_;
  std::uint64_t wrong_ = 0;
  Time next_status_{};
};

}  // namespace

int run_server(const Options& options, int signals) {
  return Server(options, signals).run();
}

}  // namespace many
