// One conversation with whatever DHCP servers there are about one address that was ours:
//
//   Rebooting --ACK--> confirmed
//      |  \--NAK--> Selecting --OFFER--> Requesting --ACK--> confirmed or replaced
//      |                ^-------------NAK---'
//      '---- silence (each state, after its tries) ----> silent
//
// It runs beside the restore, which never waits for it. The address is in use meanwhile, which RFC 2131 (3.2)
// allows a client that gets no answer until its lease ends. Owned by Leases; loop thread; `done` is called
// once, and the object may be destroyed in it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "guestagent/agent/dhcp/message.hpp"
#include "guestagent/agent/timers.hpp"

namespace rdmove::agent::dhcp {

/// Whether the identifier is what the guest's client used. If it is only assumed, a NAK may be about the
/// identifier, so it changes nothing.
enum class Identity { Known, Assumed };

struct Outcome {
  enum class Kind { Confirmed, Replaced, Silent, Refused };
  Kind kind = Kind::Silent;
  std::optional<Reply> lease;  // with Confirmed and Replaced
};

class Exchange {
 public:
  using Send = std::function<void(const Bytes& message)>;
  using Random = std::function<std::uint32_t()>;
  using Done = std::function<void(const Outcome&)>;

  Exchange(Timers& timers, Send send, Random random, Client client, Identity identity, Ipv4 address,
           Done done);

  void start();
  void received(std::span<const std::uint8_t> message);

 private:
  enum class State { Rebooting, Selecting, Requesting };

  void enter(State state);
  void ask();
  void refused();
  void finish(Outcome outcome);

  Timers& timers_;
  Send send_;
  Random random_;
  Client client_;
  Identity identity_;
  Ipv4 address_;
  Done done_;
  State state_ = State::Rebooting;
  milliseconds started_{0};
  std::uint32_t transaction_ = 0;
  int tries_ = 0;
  int refusals_ = 0;
  std::optional<Reply> offer_;
  std::unique_ptr<Timer> again_;
};

}  // namespace rdmove::agent::dhcp
