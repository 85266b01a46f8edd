#include "guestagent/failover/connection/fuzz/stranger.hpp"

#include <algorithm>
#include <utility>

#include "guestagent/fuzz/target.hpp"

namespace rdmove::failover::conn::fake {

using fuzz::require;

Stranger::Stranger(Fabric& fabric, std::uint64_t incarnation_of_the_other)
    : port_(fabric, host), their_incarnation_(incarnation_of_the_other) {
  port_.add_device();
  service_ = listen(service);
  recall_ = listen(recall);
}

std::unique_ptr<Endpoint> Stranger::listen(std::uint16_t number) {
  auto endpoint = std::move(*port_.make_endpoint());
  (void)endpoint->bind(*SocketAddress::parse("0.0.0.0", number));
  (void)endpoint->listen(64);
  return endpoint;
}

std::size_t Stranger::pump() {
  std::size_t count = 0;
  for (; auto event = port_.take_event(); ++count) {
    if (event->kind == CmEventKind::ConnectRequest) called(*event);
    if (event->endpoint != last_call_) continue;
    if (event->kind == CmEventKind::Established) accepted(*event);
    if (event->kind == CmEventKind::Rejected) {
      outcome_ = Outcome::Refused;
      refused(*event);
    }
  }
  return count;
}

// Both ends of the other side's words are ours to read: librdmove never says what it would not take.
void Stranger::called(CmEvent& event) {
  ++calls_;
  const auto hello = decode_hello(event.private_data);
  require(hello.has_value(), "a call says what cannot be read");
  require(hello->incarnation == their_incarnation_, "a call is of another incarnation");
  require(hello->recall_port != 0 && hello->backlog != 0, "a call does not say where to call back");
  for (const Known& one : known_) {
    if (one.connection != hello->connection || one.is_two) continue;
    require(hello->epoch > one.epoch, "an epoch is used twice");
    require(hello->kind == CallKind::First || hello->token == one.told,
            "a recall has another token than it was told");
  }
  learn(*hello);
  pending_.push_back({std::move(event.incoming), *hello});
}

void Stranger::accepted(const CmEvent& event) {
  outcome_ = Outcome::Accepted;
  const auto said = decode_hello(said_);
  const auto hello = decode_hello(event.private_data);
  require(said.has_value(), "what cannot be read is accepted");
  require(hello.has_value(), "an answer says what cannot be read");
  require(hello->connection == said->connection && hello->kind == said->kind && hello->epoch == said->epoch,
          "an answer is to another call");
  require(hello->incarnation == their_incarnation_, "an answer is of another incarnation");
  learn(*hello);
  tell(said_);
}

void Stranger::refused(const CmEvent& event) const {
  if (event.status != 28) return;  // nobody listened
  const auto refusal = decode_refusal(event.private_data);
  require(refusal.has_value(), "a refusal says what cannot be read");
  require(refusal->incarnation == their_incarnation_, "a refusal is of another incarnation");
  require(decode_hello(said_).has_value() == (refusal->why != RefusalCode::Incompatible),
          "what can be read is refused as what cannot, or the other way round");
}

void Stranger::learn(const Hello& hello) {
  const auto place = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& one) { return one.connection == hello.connection; });
  auto& one = place == known_.end() ? known_.emplace_back() : *place;
  one.connection = hello.connection;
  one.is_two = one.is_two || (hello.kind == CallKind::First && one.token != 0 && one.token != hello.token);
  if (hello.kind == CallKind::First) one.token = hello.token;
  one.epoch = hello.epoch;
}

// What it was told in a first call, or in the answer to one, it is to call us by.
void Stranger::tell(std::span<const std::byte> data) {
  auto padded = std::vector(data.begin(), data.end());
  padded.resize(most_private_data);
  const auto hello = decode_hello(padded);
  if (!hello || hello->kind != CallKind::First) return;
  for (Known& one : known_)
    if (one.connection == hello->connection) one.told = hello->token;
}

void Stranger::call(const std::string& address, std::uint16_t port, std::span<const std::byte> data) {
  auto endpoint = std::move(*port_.make_endpoint());
  (void)endpoint->resolve_address(std::nullopt, *SocketAddress::parse(address, port), Milliseconds(1000));
  pump();
  said_.assign(data.begin(), data.end());
  said_.resize(most_private_data);
  last_call_ = endpoint->number();
  outcome_ = Outcome::None;
  (void)endpoint->connect({data});
  endpoints_.push_back(std::move(endpoint));
}

void Stranger::answer(std::span<const std::byte> data) {
  if (pending_.empty()) return;
  tell(data);
  (void)pending_.front().endpoint->accept({data});
  endpoints_.push_back(std::move(pending_.front().endpoint));
  pending_.pop_front();
}

void Stranger::reject(std::span<const std::byte> data) {
  if (pending_.empty()) return;
  pending_.front().endpoint->reject(data);
  pending_.pop_front();
}

void Stranger::ignore() {
  if (!pending_.empty()) pending_.pop_front();
}

void Stranger::disconnect(std::size_t which) {
  if (!endpoints_.empty()) endpoints_[which % endpoints_.size()]->disconnect();
}

void Stranger::destroy(std::size_t which) {
  if (endpoints_.empty()) return;
  endpoints_.erase(endpoints_.begin() + static_cast<std::ptrdiff_t>(which % endpoints_.size()));
}

const Stranger::Known* Stranger::known(std::size_t which) const {
  return known_.empty() ? nullptr : &known_[which % known_.size()];
}

bool Stranger::may_recall(const Hello& hello) const {
  return std::any_of(known_.begin(), known_.end(), [&](const Known& one) {
    return one.connection == hello.connection && one.token == hello.token;
  });
}

Hello Stranger::right_answer() const {
  Hello hello = pending_.front().hello;
  hello.incarnation = incarnation;
  if (hello.kind == CallKind::First) {
    hello.token = token;
  } else if (const auto place =
                 std::find_if(known_.begin(), known_.end(),
                              [&](const Known& one) { return one.connection == hello.connection; });
             place != known_.end()) {
    hello.token = place->token;
  }
  hello.recall_port = recall;
  hello.backlog = 4;
  hello.moved = false;
  hello.application.clear();
  return hello;
}

}  // namespace rdmove::failover::conn::fake
