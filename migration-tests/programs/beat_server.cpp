// The server of rdma-beat: echoes, checks, and measures the blackouts of clients that move.

#include <netinet/in.h>
#include <poll.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "beat_session.hpp"
#include "options.hpp"
#include "status_file.hpp"

namespace beat {
namespace {

constexpr int kBacklog = 1024;  // with a short one, requests that come at once wait for a retransmission
constexpr std::uint8_t kAckTimeout =
    15;  // with the client's retry count of 6 a vanished client is noticed in about 1 s

class Server {
 public:
  explicit Server(const Options& options) : options_(options) {}

  int run(int signals) {
    if (auto started = start(); !started) {
      log_event("cannot serve: " + started.error());
      return 1;
    }
    log_event("listening port=" + options_.port);
    for (Time next_status{};;) {
      wait(signals);
      if (const auto signal = read_signal(signals); signal == Signal::End)
        break;
      else if (signal == Signal::Stats)
        log_event("stats " + status());
      while (auto event = take_event(channel_)) handle(*event);
      for (auto& [run, session] : sessions_) serve(session);
      if (Clock::now() >= next_status) {
        write_status(options_.status_path, status());
        next_status = Clock::now() + std::chrono::milliseconds(200);
      }
    }
    write_status(options_.status_path, status());
    return 0;
  }

 private:
  Result<void> start() {
    auto channel = make_channel();
    if (!channel) return tl::unexpected(channel.error());
    channel_ = std::move(*channel);
    auto listener = make_id(channel_);
    if (!listener) return tl::unexpected(listener.error());
    listener_ = std::move(*listener);
    // The wildcard address: such a listener outlives a device that leaves and comes back.
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<std::uint16_t>(std::atoi(options_.port.c_str())));
    if (rdma_bind_addr(listener_.get(), reinterpret_cast<sockaddr*>(&any)) != 0)
      return tl::unexpected(last_error("rdma_bind_addr"));
    if (rdma_listen(listener_.get(), kBacklog) != 0) return tl::unexpected(last_error("rdma_listen"));
    return {};
  }

  void wait(int signals) {
    std::vector<pollfd> files{{signals, POLLIN, 0}, {channel_->fd, POLLIN, 0}};
    for (const auto& [run, session] : sessions_)
      if (session.endpoint) files.push_back({session.endpoint->completion_fd(), POLLIN, 0});
    ::poll(files.data(), files.size(), 200);
  }

  void handle(CmEvent& event) {
    if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) return accept(event);
    for (auto& [run, session] : sessions_) {
      if (!session.endpoint || session.endpoint->id() != event.id) continue;
      if (event.type == RDMA_CM_EVENT_ESTABLISHED) {
        log_event("connected client=" + session.name + " connections=" + std::to_string(session.connections));
      } else if (event.type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
        close(session, event.describe());
        if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) let_go_of_devices();
      }
      return;
    }
  }

  void accept(CmEvent& event) {
    Id id(event.id);
    Hello hello;
    if (event.private_data.size() < sizeof(hello)) return refuse(std::move(id), "no hello");
    std::memcpy(&hello, event.private_data.data(), sizeof(hello));
    if (hello.magic != Message::kMagic || hello.version != 1)
      return refuse(std::move(id), "not an rdma-beat");
    Session& session = sessions_[hello.run];
    hello.name.back() = '\0';
    session.name = hello.name.data();
    // The old one goes first: while its id lives, the new connection is refused as stale.
    if (session.endpoint) close(session, "the client connects anew");
    rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
                    const_cast<std::uint8_t*>(&kAckTimeout), sizeof(kAckTimeout));
    auto endpoint = Endpoint::create(std::move(id));
    if (!endpoint) return log_event("cannot accept " + session.name + ": " + endpoint.error());
    rdma_conn_param parameters{};
    parameters.rnr_retry_count = 7;
    if (rdma_accept((*endpoint)->id(), &parameters) != 0)
      return log_event("cannot accept " + session.name + ": " + last_error("rdma_accept"));
    session.endpoint = std::move(*endpoint);
    session.first_after_reconnect = session.connections++ > 0;
    session.last_received = {};
  }

  void refuse(Id id, const std::string& why) {
    rdma_reject(id.get(), nullptr, 0);
    log_event("refused: " + why);
  }

  void close(Session& session, const std::string& why) {
    session.last_success = std::max(session.last_success, session.endpoint->last_success());
    session.endpoint.reset();
    log_event("disconnected client=" + session.name + " after=" + std::to_string(session.received) +
              " why=" + why);
  }

  void serve(Session& session) {
    if (!session.endpoint) return;
    auto done = session.endpoint->poll([&](const Message& message) {
      count(session, message);
      if (auto sent = session.endpoint->send(message); !sent) ++session.errors;
    });
    if (!done)
      close(session, done.error());  // how a client that vanished is noticed; expected, so not an error
  }

  static void count(Session& session, const Message& message) {
    const Time now = Clock::now();
    if (session.last_received != Time{})
      session.longest_gap_ms = std::max(session.longest_gap_ms, to_ms(now - session.last_received));
    session.last_received = now;
    ++session.received;
    if (!is_intact(message)) {
      ++session.errors;
      log_event("broken client=" + session.name + " number=" + std::to_string(message.number));
      return;
    }
    if (session.next_number == 0) session.next_number = message.number;
    if (message.number < session.next_number) {
      ++session.duplicates;
    } else {
      session.lost += message.number - session.next_number;
      session.next_number = message.number + 1;
    }
    if (session.first_after_reconnect) {
      session.first_after_reconnect = false;
      session.last_blackout_ms = to_ms(now - session.last_success);
      log_event(
          "reconnected client=" + session.name + " blackout_ms=" + std::to_string(*session.last_blackout_ms) +
          " lost=" + std::to_string(session.lost) + " duplicates=" + std::to_string(session.duplicates));
    }
  }

  /// The sums first, as most labs have one client; each client by name below.
  std::string status() const {
    nlohmann::json clients = nlohmann::json::object();
    nlohmann::json all{
        {"role", "server"},     {"connections", 0U}, {"connected", 0U}, {"received", 0U},
        {"lost", 0U},           {"duplicates", 0U},  {"errors", 0U},    {"last_blackout_ms", nullptr},
        {"longest_gap_ms", 0.0}};
    for (const auto& [run, session] : sessions_) {
      nlohmann::json one{{"connections", session.connections}, {"connected", session.endpoint ? 1U : 0U},
                         {"received", session.received},       {"lost", session.lost},
                         {"duplicates", session.duplicates},   {"errors", session.errors}};
      for (const auto& [key, value] : one.items())
        all[key] = all[key].get<std::uint64_t>() + value.get<std::uint64_t>();
      one["longest_gap_ms"] = session.longest_gap_ms;
      all["longest_gap_ms"] = std::max(all["longest_gap_ms"].get<double>(), session.longest_gap_ms);
      if (session.last_blackout_ms)
        all["last_blackout_ms"] = one["last_blackout_ms"] = *session.last_blackout_ms;
      // A client program that was started again has the same name: its last run is the one to show.
      one["last_seen"] = to_ms(session.last_received.time_since_epoch()) / 1000;
      if (!clients.contains(session.name) || clients[session.name]["last_seen"] <= one["last_seen"])
        clients[session.name] = std::move(one);
    }
    all["clients"] = std::move(clients);
    return all.dump();
  }

  const Options& options_;
  Channel channel_;
  Id listener_;
  std::map<std::uint64_t, Session>
      sessions_;  // by the client's run; last, so that ids go before their channel
};

}  // namespace

int run_server(const Options& options, int signals) {
  return Server(options).run(signals);
}

}  // namespace beat
