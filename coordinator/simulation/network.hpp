// The network between the two hosts: messages take time, are lost, wait in buffers, or find nobody. Of the
// management network; libvirt's streams take it too.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "coordinator/simulation/agenda.hpp"
#include "coordinator/simulation/random.hpp"

namespace rdmove::simulation {

class Network {
 public:
  Network(Agenda& agenda, Random& random) : agenda_(agenda), random_(random) {}

  /// From host `from` to the other. What meets a cut is lost.
  void send(int from, std::function<void()> arrives) {
    if (lost(from)) return;
    agenda_.after(delay(), [this, from, arrives = std::move(arrives)] {
      if (!cut[static_cast<std::size_t>(from)]) arrives();
    });
  }
  bool open(int from) const { return !cut[static_cast<std::size_t>(from)]; }
  bool openBothWays() const { return open(0) && open(1); }

  std::array<bool, 2> cut{};  ///< by the host that sends
  unsigned loss_percent = 0;
  Duration slowest{std::chrono::milliseconds(2)};

 private:
  bool lost(int from) { return !open(from) || random_.percent(loss_percent); }
  Duration delay() { return random_.between(std::chrono::microseconds(100), slowest); }

  Agenda& agenda_;
  Random& random_;
};

}  // namespace rdmove::simulation
