// The session against bytes as a script: what a peer sends, what the link does, what the application asks. It
// must not promise more than its memory holds, nor deliver what it must not.
#include "guestagent/failover/channel/session.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "guestagent/fuzz/script.hpp"
#include "guestagent/fuzz/target.hpp"

namespace rdmove::failover::channel {
namespace {

using fuzz::require;
using fuzz::Script;

constexpr std::uint16_t kSlots = 8;
constexpr std::uint32_t kLimit = 96;

class Peer final : public Link, public Timekeeper, public SessionObserver {
 public:
  Peer() : session(options(), *this, *this, *this) {
    (void)session.add_region("here", 0x1000, 64, RegionAccess::RemoteReadWrite);
  }
  bool post_send(std::span<const std::byte> frame, Token token) override {
    const auto slab = std::span(session.slab().address(), session.slab().bytes());
    require(frame.data() >= slab.data() && frame.data() + frame.size() <= slab.data() + slab.size(),
            "a frame outside of its memory is sent");
    require(read_header(frame).has_value(), "a frame without a header is sent");
    return post(token);
  }
  bool post_receive(ReceiveSlot slot) override {
    require(std::find(receives.begin(), receives.end(), slot) == receives.end(), "a receive is posted twice");
    receives.push_back(slot);
    return true;
  }
  bool post_write(const OneSidedWork& work, Token token) override {
    require(work.local_offset + work.length <= 64, "a one-sided operation leaves its region");
    return post(token);
  }
  bool post_read(const OneSidedWork& work, Token token) override { return post_write(work, token); }
  [[nodiscard]] std::uint32_t remote_key(RegionPlace) const override { return 1; }
  void break_link(const std::string&) override { is_broken = true; }
  Clock::time_point now() override { return time; }
  void wake_at(Clock::time_point) override {}
  void ready() override {}
  void received(std::span<const std::byte> message) override {
    require(message.size() <= kLimit, "a message beyond the limit is delivered");
    ++delivered;
    for (const std::byte b : message) seen ^= std::to_integer<unsigned>(b);  // all of it can be read
  }
  void acknowledged(std::uint64_t number) override {
    require(number <= session.stream().sent(), "what was not sent is acknowledged");
  }
  void writable() override {}
  void regions_changed() override {}
  void drained() override {}
  void finished() override {}
  void failed(const std::string& why) override { (void)session.end({GoneReason::Incompatible, why}); }

  /// A new queue pair; also after one that never came up.
  void open() {
    if (is_up) return;
    receives.clear();
    out.clear();
    session.opened();
  }
  void come_up(const std::optional<Greeting>& heard = {}) {
    is_up = is_up || !receives.empty();
    session.link_up(heard);
  }
  void take_down() {
    is_up = false;
    receives.clear();
    out.clear();
    is_broken = false;
    session.link_down();
  }

  std::deque<ReceiveSlot> receives;
  std::vector<Token> out;
  Clock::time_point time{};
  std::uint64_t delivered = 0;
  unsigned seen = 0;
  bool is_broken = false;
  bool is_up = false;

 private:
  static SessionOptions options() {
    SessionOptions options;
    options.message_limit = options.send_limit = kLimit;
    options.send_slots = options.receive_slots = kSlots;
    options.send_depth = 24;
    return options;
  }
  bool post(Token token) {
    out.push_back(token);
    return out.size() <= 24;
  }

 public:
  Session session;
};

void arrive(Peer& peer, std::span<const std::byte> frame) {
  if (peer.receives.empty()) return;
  const ReceiveSlot slot = peer.receives.front();
  peer.receives.pop_front();
  const auto memory = peer.session.slab().receive_slot(slot);
  const std::size_t length = std::min(frame.size(), memory.size());
  std::copy_n(frame.begin(), length, memory.begin());
  peer.session.received(slot, length);
}

/// A frame that is well made, so that a fuzzer gets past the first checks: small numbers from the script.
void arrive_made(Peer& peer, Script& script) {
  Header header;
  header.type = static_cast<FrameType>(script.byte() % 7);
  header.number = script.byte();
  header.acknowledged = script.byte();
  header.credit = script.byte();
  const auto payload = script.some(script.byte() % 100);
  header.length = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> frame(kHeaderBytes + payload.size());
  write_header(frame.data(), header);
  std::transform(payload.begin(), payload.end(), frame.begin() + kHeaderBytes,
                 [](std::uint8_t b) { return static_cast<std::byte>(b); });
  arrive(peer, frame);
}

void greet(Peer& peer, Script& script) {
  std::array<std::byte, kHeaderBytes + kHelloBytes> frame;
  write_header(frame.data(), {FrameType::Hello, kVersion, kHelloBytes, 0, script.byte(), kSlots});
  write_hello(std::span<std::byte, kHelloBytes>(&frame[kHeaderBytes], kHelloBytes),
              {kLimit, kSlots, kSlots, 0});
  arrive(peer, frame);
}

void step(Peer& peer, Script& script) {
  std::array<std::byte, kLimit> message{};
  const auto what = script.byte();
  if (what >= 252) {  // both calls have greeted; the kept inputs have hardly any of these
    (void)peer.session.greeting();
    return peer.come_up(Greeting{script.byte(), script.byte(), script.byte()});
  }
  switch (what % 14) {
    case 0:
      return peer.open();
    case 1:
      return peer.come_up();
    case 2:
      return peer.take_down();
    case 3:
      return arrive_made(peer, script);
    case 4:
      return arrive(peer, std::as_bytes(script.some(script.byte())));
    case 5:
      (void)peer.session.send(std::span(message).first(script.byte() % kLimit));
      return;
    case 6:
      peer.session.pause();
      return;
    case 7:
      peer.session.unpause();
      return;
    case 8:
      peer.time += std::chrono::milliseconds(script.byte());
      return peer.session.timer();
    case 9:
      if (peer.out.empty()) return peer.session.sent(Token{script.byte()});
      peer.session.sent(peer.out.front());
      if (!peer.out.empty()) peer.out.erase(peer.out.begin());
      return;
    case 10:
      (void)peer.session.one_sided(OperationKind::Write, {"here", script.byte(), 8}, "there", script.byte(),
                                   {});
      return;
    case 11:
      return peer.session.quiesce();
    case 12:
      (void)peer.session.finish();
      return;
    default:
      return greet(peer, script);
  }
}

}  // namespace
}  // namespace rdmove::failover::channel

void rdmove::fuzz::run(std::span<const std::uint8_t> input) {
  using namespace rdmove::failover;
  channel::Peer peer;
  Script script(input);
  while (!script.is_over()) {
    channel::step(peer, script);
    if (peer.is_broken) peer.take_down();
    require(peer.receives.size() <= channel::kSlots, "there are more receives than slots");
    require(peer.session.delivered() <= peer.delivered + 1,
            "more is counted as delivered than was");  // the goodbye counts
  }
  const auto end = peer.session.end({GoneReason::Closed, "fuzz"});
  require(end.acknowledged.last <= end.unknown.last && end.unknown.last <= end.unsent.last,
          "the ranges of the end overlap");
}
