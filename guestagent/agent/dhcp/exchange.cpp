#include "guestagent/agent/dhcp/exchange.hpp"

namespace rdmove::agent::dhcp {
namespace {

// The first question right after a link comes up is the one that gets lost.
constexpr milliseconds first_wait{1000};  // doubled after each try
constexpr int most_tries = 3;
constexpr int most_refusals = 3;  // a server that offers and then refuses, or somebody who plays one

}  // namespace

Exchange::Exchange(Timers& timers, Send send, Random random, Client client, Identity identity, Ipv4 address,
                   Done done)
    : timers_(timers),
      send_(std::move(send)),
      random_(std::move(random)),
      client_(std::move(client)),
      identity_(identity),
      address_(address),
      done_(std::move(done)) {}

void Exchange::start() {
  started_ = timers_.now();
  enter(State::Rebooting);
}

void Exchange::enter(State state) {
  state_ = state;
  tries_ = 0;
  // A REQUEST after an OFFER keeps its number (RFC 2131, 4.4.1).
  if (state != State::Requesting) transaction_ = random_();
  ask();
}

void Exchange::ask() {
  if (tries_ == most_tries) return finish({Outcome::Kind::Silent, {}});
  Query query;
  query.transaction = transaction_;
  query.elapsed_seconds = static_cast<std::uint16_t>(
      std::chrono::duration_cast<std::chrono::seconds>(timers_.now() - started_).count());
  query.type = state_ == State::Selecting ? Type::Discover : Type::Request;
  query.address = address_;
  if (state_ == State::Requesting) {
    query.address = offer_->address;
    query.server = offer_->server;
  }
  again_ = timers_.after(first_wait * (1 << tries_), [this] { ask(); });
  ++tries_;
  send_(to_bytes(client_, query));
}

void Exchange::received(std::span<const std::uint8_t> message) {
  const auto reply = parse_reply(message, client_, transaction_);
  if (!reply || !done_) return;
  if (state_ == State::Selecting) {
    if (reply->type != Type::Offer) return;
    offer_ = reply;
    return enter(State::Requesting);
  }
  // Another server may answer for itself only.
  if (state_ == State::Requesting && reply->server != offer_->server) return;
  if (reply->type == Type::Nak) return refused();
  const auto& expected = state_ == State::Requesting ? offer_->address : address_;
  if (reply->type != Type::Ack || reply->address != expected) return;
  finish({reply->address == address_ ? Outcome::Kind::Confirmed : Outcome::Kind::Replaced, reply});
}

void Exchange::refused() {
  if (identity_ == Identity::Assumed || ++refusals_ == most_refusals) {
    return finish({Outcome::Kind::Refused, {}});
  }
  enter(State::Selecting);
}

void Exchange::finish(Outcome outcome) {
  again_.reset();
  const auto done = std::exchange(done_, nullptr);
  done(outcome);
}

}  // namespace rdmove::agent::dhcp
