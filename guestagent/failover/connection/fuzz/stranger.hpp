// A peer in the fake world that says in its private data whatever it is told to, and checks all that is said
// to it. It also knows what it has been told, so that it can be nearly right.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "guestagent/failover/connection/tests/fake_world.hpp"
#include "guestagent/failover/connection/wire.hpp"

namespace rdmove::failover::conn::fake {

inline constexpr std::size_t most_private_data = 56;  // of a request on an IP port space

class Stranger {
 public:
  static constexpr const char* host = "10.0.0.9";
  static constexpr std::uint16_t service = 7100;
  static constexpr std::uint16_t recall = 7200;
  static constexpr std::uint64_t incarnation = 0x5151515151515151;
  static constexpr std::uint64_t token = 77;

  /// What is known of a connection of the other side's.
  struct Known {
    std::uint64_t connection = 0;
    std::uint64_t token = 0;  ///< theirs, as they told it
    std::uint64_t told = 0;   ///< ours, as they were told it
    std::uint32_t epoch = 0;  ///< the last that went through or was called with
    bool is_two = false;      ///< a call of ours had the number of one of theirs
  };
  struct Pending {
    std::unique_ptr<Endpoint> endpoint;
    Hello hello;
  };
  enum class Outcome { None, Accepted, Refused };

  Stranger(Fabric& fabric, std::uint64_t incarnation_of_the_other);

  /// Takes what has come. How many events that were.
  std::size_t pump();
  /// What became of the last call().
  [[nodiscard]] Outcome outcome() const { return outcome_; }

  void call(const std::string& address, std::uint16_t port, std::span<const std::byte> data);
  void answer(std::span<const std::byte> data);  ///< the call that came first; none: nothing happens
  void reject(std::span<const std::byte> data);
  void ignore();
  void disconnect(std::size_t which);
  void destroy(std::size_t which);

  [[nodiscard]] const Pending* pending() const { return pending_.empty() ? nullptr : &pending_.front(); }
  [[nodiscard]] const Known* known(std::size_t which) const;
  [[nodiscard]] bool may_recall(const Hello& hello) const;
  [[nodiscard]] Hello right_answer() const;
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  std::unique_ptr<Endpoint> listen(std::uint16_t number);
  void called(CmEvent& event);
  void accepted(const CmEvent& event);
  void refused(const CmEvent& event) const;
  void learn(const Hello& hello);
  void tell(std::span<const std::byte> data);

  FakePort port_;
  const std::uint64_t their_incarnation_;
  std::unique_ptr<Endpoint> service_;
  std::unique_ptr<Endpoint> recall_;
  std::deque<Pending> pending_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<Known> known_;
  std::vector<std::byte> said_;  ///< in the last call
  EndpointNumber last_call_ = EndpointNumber::none;
  Outcome outcome_ = Outcome::None;
  std::uint64_t calls_ = 0;
};

}  // namespace rdmove::failover::conn::fake
