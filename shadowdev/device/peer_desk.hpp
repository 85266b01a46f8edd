// Answers what other shadows ask. A peer may have QPs that are connected to its own GID held, taken away and
// connected again; it may change their destination number, PSN and remote keys, only while they are parked
// and only with its next epoch; never a GID, a P_Key or an access right. What it has no right to is refused
// and counted (Engine::refusals). Any thread, without locks of the device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shadowdev/device/engine.hpp"

namespace rdmove::shadow {

class PeerDesk {
 public:
  explicit PeerDesk(Engine& engine) : engine_(engine) {}
  /// `from` was proven by the link; `to` is ours. Bytes that are no question: a refusal.
  std::vector<std::byte> answer(const ibv_gid& from, const ibv_gid& to, std::span<const std::byte> question);

 private:
  Answer answer(const ibv_gid& from, const ibv_gid& to, const Question& question);
  Answer meet(VirtualContext& context, const Question& question);
  Answer numbers(VirtualContext& context, const ibv_gid& from, const Question& question);
  Answer hold(VirtualQp& qp);
  Answer drained(VirtualQp& qp);
  Answer freeze(VirtualQp& qp);
  Answer reconnect(VirtualContext& context, VirtualQp& qp, const Question& question);
  Answer go(VirtualQp& qp);
  Answer unhold(VirtualQp& qp);
  Answer gone(VirtualQp& qp);
  Answer disconnect(VirtualQp& qp);
  Answer keys(VirtualContext& context, VirtualQp& qp, const Question& question);
  Answer refuse();

  Engine& engine_;
};

}  // namespace rdmove::shadow
