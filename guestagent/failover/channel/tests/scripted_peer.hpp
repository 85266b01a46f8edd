// One session and a peer that says what the test says, frame by frame, right or wrong.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "guestagent/failover/channel/session.hpp"

namespace rdmove::failover::channel::test {

class ScriptedPeer final : public Link, public Timekeeper, public SessionObserver {
 public:
  struct Sent {
    Header header;
    std::vector<std::byte> payload;
    Token token{};
  };
  struct OneSidedSent {
    bool is_write = false;
    OneSidedWork work;
    Token token{};
  };

  explicit ScriptedPeer(const SessionOptions& options = small()) : session(options, *this, *this, *this) {}

  static SessionOptions small() {
    SessionOptions options;
    options.message_limit = 64;
    options.send_limit = 100;
    options.send_slots = options.receive_slots = 16;
    options.send_depth = 40;
    return options;
  }

  /// A new link: both hellos, the peer's with what it has delivered.
  void greet(std::uint64_t so_far = 0, Hello hello = {64, 16, 16, 0}) {
    open();
    session.link_up();
    say_hello(so_far, hello);
  }
  /// A new link that both calls have greeted on.
  void come_back(std::uint64_t so_far, std::uint16_t regions = 0) {
    open();
    said = session.greeting();
    credit = 16;
    counted = so_far;
    session.link_up(Greeting{regions, 16, so_far});
  }
  void open() {
    sent.clear();
    one_sided.clear();
    credit = 0;
    session.opened();
  }
  void say_hello(std::uint64_t so_far = 0, Hello hello = {64, 16, 16, 0}) {
    std::array<std::byte, kHelloBytes> payload;
    write_hello(payload, hello);
    credit = hello.receive_slots;
    counted = so_far;
    arrives({FrameType::Hello, kVersion, kHelloBytes, 0, so_far, credit}, payload);
  }
  void says(std::uint64_t number, std::string_view text, std::uint64_t acknowledged = 0) {
    const auto bytes = std::as_bytes(std::span(text));
    arrives(
        {FrameType::Message, kVersion, static_cast<std::uint32_t>(text.size()), number, acknowledged, credit},
        bytes);
  }
  void acknowledges(std::uint64_t number) {
    arrives({FrameType::Acknowledge, kVersion, 0, 0, number, credit}, {});
  }
  void shows(RegionFrame region) {
    std::array<std::byte, kRegionBytes> payload;
    write_region(payload, region);
    arrives({FrameType::Region, kVersion, kRegionBytes, 0, counted, credit}, payload);
  }
  void arrives(const Header& header, std::span<const std::byte> payload) {
    std::vector<std::byte> frame(kHeaderBytes + payload.size());
    write_header(frame.data(), header);
    std::copy(payload.begin(), payload.end(), frame.begin() + kHeaderBytes);
    arrives(frame);
  }
  void arrives(std::span<const std::byte> frame) {
    if (receives.empty()) return;
    const ReceiveSlot slot = receives.front();
    receives.pop_front();
    std::copy(frame.begin(), frame.end(), session.slab().receive_slot(slot).begin());
    session.received(slot, frame.size());
  }
  /// All that was posted so far is done.
  void complete_all() {
    const auto frames = std::exchange(uncompleted, {});
    for (const Token token : frames) session.sent(token);
  }
  void take_down() {
    receives.clear();
    uncompleted.clear();
    session.link_down();
  }
  Result<std::uint64_t> send(std::string_view text) { return session.send(std::as_bytes(std::span(text))); }
  void pass(Clock::duration time) {
    time_ += time;
    if (!wake_ || time_ < *wake_) return;
    wake_.reset();
    session.timer();
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> all;
    for (const Sent& frame : sent) {
      if (frame.header.type == FrameType::Message) all.push_back(frame.header.number);
    }
    return all;
  }
  [[nodiscard]] std::size_t count(FrameType type) const {
    std::size_t n = 0;
    for (const Sent& frame : sent) n += frame.header.type == type ? 1 : 0;
    return n;
  }

  bool post_send(std::span<const std::byte> frame, Token token) override {
    if (refuses) return false;
    sent.push_back({*read_header(frame), {frame.begin() + kHeaderBytes, frame.end()}, token});
    uncompleted.push_back(token);
    return true;
  }
  bool post_receive(ReceiveSlot slot) override {
    receives.push_back(slot);
    return true;
  }
  bool post_write(const OneSidedWork& work, Token token) override { return post(true, work, token); }
  bool post_read(const OneSidedWork& work, Token token) override { return post(false, work, token); }
  [[nodiscard]] std::uint32_t remote_key(RegionPlace place) const override {
    return 500 + static_cast<unsigned>(place);
  }
  void break_link(const std::string& why) override { breaks.push_back(why); }
  Clock::time_point now() override { return time_; }
  void wake_at(Clock::time_point when) override { wake_ = when; }
  void ready() override { log.push_back("ready"); }
  void received(std::span<const std::byte> message) override {
    delivered.emplace_back(reinterpret_cast<const char*>(message.data()), message.size());
    if (on_received) on_received();
  }
  void acknowledged(std::uint64_t number) override {
    log.push_back("acknowledged " + std::to_string(number));
  }
  void writable() override { log.push_back("writable"); }
  void regions_changed() override { log.push_back("regions"); }
  void drained() override { log.push_back("drained"); }
  void finished() override { log.push_back("finished"); }
  void failed(const std::string& why) override {
    failure = why;
    (void)session.end({GoneReason::Incompatible, why});
  }

  std::vector<Sent> sent;
  std::vector<OneSidedSent> one_sided;
  std::vector<Token> uncompleted;
  std::deque<ReceiveSlot> receives;
  std::vector<std::string> delivered;
  std::vector<std::string> log;
  std::vector<std::string> breaks;
  std::string failure;
  std::optional<Greeting> said;  // by the session, instead of a hello
  std::function<void()> on_received;
  std::uint64_t credit = 0;
  std::uint64_t counted = 0;  // by its hello
  bool refuses = false;

 private:
  bool post(bool is_write, const OneSidedWork& work, Token token) {
    one_sided.push_back({is_write, work, token});
    uncompleted.push_back(token);
    return true;
  }
  Clock::time_point time_{};
  std::optional<Clock::time_point> wake_;

 public:
  Session session;
};

}  // namespace rdmove::failover::channel::test
