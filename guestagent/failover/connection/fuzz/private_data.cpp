// RDMA CM's private data, of a peer that may be anyone: as bytes alone, and as a script of what the peer says
// and when, against listeners and connections in the fake world. A connection comes up only by the words that
// belong to it; who is refused leaves nothing behind; owners are told in a legal order; and no answer makes
// us call without a pause.
#include "guestagent/failover/connection/fuzz/stranger.hpp"
#include "guestagent/failover/connection/tests/connection_fixture.hpp"
#include "guestagent/fuzz/script.hpp"
#include "guestagent/fuzz/target.hpp"

namespace rdmove::failover::conn::fake {
namespace {

using fuzz::require;
using fuzz::Script;

constexpr std::size_t most_owners = 10;
constexpr int most_passes = 100;  // until a moment is over
constexpr Milliseconds moment{20};
constexpr Milliseconds longest_time{30'000};

std::vector<std::byte> bytes_of(std::span<const std::uint8_t> data) {
  const auto bytes = std::as_bytes(data);
  return {bytes.begin(), bytes.end()};
}

template <class Words, class Decode>
void check_form(std::span<const std::byte> data, std::size_t fixed, Decode decode) {
  const auto words = decode(data);
  auto padded = std::vector(data.begin(), data.end());
  padded.resize(data.size() + 200);
  const auto of_padded = decode(padded);
  if (!words) return;
  require(of_padded == words, "RDMA CM's padding changes what is read");
  const auto written = encode(*words);
  require(written.size() >= fixed && written.size() <= most_private_data, "what is written has another size");
  require(decode(written) == words, "what is written is read as another");
  for (std::size_t size = 0; size < written.size(); ++size)
    require(!decode(std::vector(written.begin(), written.begin() + static_cast<std::ptrdiff_t>(size))),
            "half of it is read");
}

void check_bytes(std::span<const std::byte> data) {
  check_form<Hello>(data, hello_bytes, [](const auto& bytes) { return decode_hello(bytes); });
  check_form<Refusal>(data, refusal_bytes, [](const auto& bytes) { return decode_refusal(bytes); });
}

class Scene {
 public:
  Scene() {
    ours.listen(7000);
    pump();
  }

  void step(Script& script);
  void end() {
    stranger.reset();
    ours.owners.clear();
    pump();
    require(ours.live_endpoints() <= 3, "who is gone has left an endpoint");  // two listeners and the canary
    check();
  }

 private:
  void pump();
  void pass(Milliseconds time);
  void check() const;
  void call(std::uint16_t port, std::span<const std::byte> data);
  void answer(std::span<const std::byte> data);
  void toggle_device();
  void toggle_hold();
  void act_as_owner(std::size_t which, unsigned what);
  Hello nearly_right_call(Script& script) const;
  [[nodiscard]] int ups() const;

  Fabric fabric;
  ManualClock clock;
  Machine ours{fabric, "10.0.0.1", 1, clock};
  std::unique_ptr<Stranger> stranger = std::make_unique<Stranger>(fabric, ours.hub.incarnation());
  Milliseconds passed_{0};
  std::optional<RefusalCode> habit_;  // how it answers each call
};

int Scene::ups() const {
  int count = 0;
  for (const auto& owner : ours.owners) count += owner->ups;
  return count;
}

// Until nothing happens any more at this moment.
void Scene::pump() {
  for (int pass = 0;; ++pass) {
    require(pass < most_passes, "it does not come to rest, and calls without a pause");
    const auto before = fabric.last_number;
    ours.dispatch();
    ours.reaper.run_all();
    const auto events = stranger ? stranger->pump() : 0;
    while (habit_ && stranger && stranger->pending())
      stranger->reject(encode(Refusal{*habit_, Stranger::incarnation}));
    if (events == 0 && before == fabric.last_number && pass > 5) return;
  }
}

void Scene::pass(Milliseconds time) {
  for (; time.count() > 0 && passed_ < longest_time; time -= moment, passed_ += moment) {
    clock.advance(moment);
    pump();
  }
}

void Scene::check() const {
  require(fabric.faults.empty(), fabric.faults.empty() ? "" : fabric.faults.front().c_str());
  std::size_t alive = 0;
  for (const auto& owner : ours.owners) {
    require(owner->faults.empty(), owner->faults.empty() ? "" : owner->faults.front().c_str());
    alive += owner->connection->state() == ConnectionState::Gone ? 0U : 1U;
  }
  require(ours.hub.report().connections == alive, "the hub knows another number of connections");
  require(ours.live_endpoints() <= 4 + alive, "an endpoint is nobody's");
}

void Scene::call(std::uint16_t port, std::span<const std::byte> data) {
  check_bytes(data);
  auto padded = std::vector(data.begin(), data.end());
  padded.resize(most_private_data);
  const auto hello = decode_hello(padded);
  const bool may = hello && (hello->kind == CallKind::First || stranger->may_recall(*hello));
  const auto owners_before = ours.owners.size();
  const int ups_before = ups();
  ours.accepts = owners_before < most_owners;
  stranger->call(ours.port.address, port, data);
  pump();
  if (!may) {
    require(stranger->outcome() != Stranger::Outcome::Accepted && ups() == ups_before,
            "it comes up for a stranger");
    require(ours.owners.size() == owners_before, "an application is asked about nothing");
  }
  if (stranger->outcome() != Stranger::Outcome::Refused) return;
  for (auto i = owners_before; i < ours.owners.size(); ++i)
    require(ours.owners[i]->connection->state() == ConnectionState::Gone,
            "an application holds a connection that was refused");
}

void Scene::answer(std::span<const std::byte> data) {
  check_bytes(data);
  if (!stranger->pending()) return;
  auto padded = std::vector(data.begin(), data.end());
  padded.resize(most_private_data);
  const auto hello = decode_hello(padded);
  const auto right = stranger->right_answer();
  const bool is_right = hello && hello->kind == right.kind && hello->connection == right.connection &&
                        hello->epoch == right.epoch &&
                        (right.kind == CallKind::First ||
                         (hello->token == right.token && hello->incarnation == right.incarnation));
  const int before = ups();
  stranger->answer(data);
  pump();
  require(is_right || ups() == before, "it comes up with somebody else");
}

void Scene::toggle_device() {
  if (ours.port.has_device()) return ours.port.remove_device();
  ours.port.add_device();
  ours.hub.way_appeared();
}

void Scene::toggle_hold() {
  ours.hub.is_held() ? ours.hub.unhold() : ours.hub.hold();
}

void Scene::act_as_owner(std::size_t which, unsigned what) {
  if (ours.owners.empty()) return;
  Owner& owner = *ours.owners[which % ours.owners.size()];
  if (what % 3 == 0) owner.connection->restart();
  if (what % 3 == 1) owner.send();
  if (what % 3 == 2) owner.connection->close();
}

// Each bit of a byte spoils one field.
Hello Scene::nearly_right_call(Script& script) const {
  Hello hello;
  const auto* known = stranger->known(script.byte());
  const unsigned wrong = script.byte();
  hello.kind = known && (wrong & 1U) == 0 ? CallKind::Recall : CallKind::First;
  hello.moved = (wrong & 2U) != 0;
  hello.connection = known && (wrong & 4U) == 0 ? known->connection : script.byte();
  hello.token = hello.kind == CallKind::First ? Stranger::token : known->token;
  if ((wrong & 8U) != 0) hello.token += script.byte();
  hello.incarnation = Stranger::incarnation + ((wrong & 16U) != 0 ? script.byte() : 0U);
  hello.epoch = known && (wrong & 32U) == 0 ? known->epoch + 1 : script.byte();
  if ((wrong & 64U) != 0) hello.epoch = ~hello.epoch;
  hello.recall_port = (wrong & 128U) == 0 ? Stranger::recall : script.byte();
  hello.backlog = script.byte();
  hello.application = bytes_of(script.some(script.byte() % 17));
  return hello;
}

void Scene::step(Script& script) {
  const auto raw = [&] { return bytes_of(script.some(script.byte() % (most_private_data + 1))); };
  const auto port = [&] { return script.byte() % 2 == 0 ? std::uint16_t{7000} : ours.hub.recall_port(); };
  switch (script.byte() % 15) {
    case 0:
      if (ours.owners.size() < most_owners) (void)ours.connect(Stranger::host, Stranger::service);
      break;
    case 1: {
      const auto where = port();
      call(where, raw());
      break;
    }
    case 2: {
      const auto where = port();
      call(where, encode(nearly_right_call(script)));
      break;
    }
    case 3:
      answer(raw());
      break;
    case 4: {
      if (!stranger->pending()) break;
      auto data = encode(stranger->right_answer());
      const auto at = script.byte();
      if (at < data.size()) data[at] = static_cast<std::byte>(script.byte());
      answer(data);
      break;
    }
    case 5: {
      const auto data = raw();
      check_bytes(data);
      stranger->reject(data);
      break;
    }
    case 6:
      stranger->reject(encode(
          Refusal{static_cast<RefusalCode>(script.byte() % 10), Stranger::incarnation + script.byte() % 2U}));
      break;
    case 7:
      pass(moment * script.byte());
      break;
    case 8:
      toggle_device();
      break;
    case 9:
      stranger->disconnect(script.byte());
      break;
    case 10:
      stranger->destroy(script.byte());
      break;
    case 11:
      toggle_hold();
      break;
    case 12: {
      const auto which = script.byte();
      act_as_owner(which, script.byte());
      break;
    }
    case 13: {
      const auto code = script.byte() % 12;
      habit_ = code < 9 ? std::optional(static_cast<RefusalCode>(code)) : std::nullopt;
      break;
    }
    default:
      stranger->ignore();
      break;
  }
  pump();
  check();
}

}  // namespace
}  // namespace rdmove::failover::conn::fake

void rdmove::fuzz::run(std::span<const std::uint8_t> input) {
  using namespace failover::conn::fake;
  check_bytes(std::as_bytes(input));
  Scene scene;
  Script script(input);
  while (!script.is_over()) scene.step(script);
  scene.end();
}
