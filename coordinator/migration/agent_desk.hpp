// One agent link per VM, shared by all who talk to it: the port takes one opener at a time. The link closes
// when its last user lets go. Loop thread only.
#pragma once

#include <algorithm>
#include <map>
#include <memory>

#include "coordinator/agentlink/agent_link.hpp"

namespace rdmove {

class AgentDesk {
 public:
  explicit AgentDesk(AgentLinks& links) : links_(links) {}

  std::shared_ptr<AgentLink> link(const DomainUuid& uuid) {
    auto& slot = open_[uuid];
    if (auto link = slot.lock()) return link;
    std::shared_ptr<AgentLink> link = links_.open(uuid);
    slot = link;
    return link;
  }
  /// How many guests are being talked to.
  std::size_t open() const {
    return static_cast<std::size_t>(
        std::count_if(open_.begin(), open_.end(), [](const auto& each) { return !each.second.expired(); }));
  }

 private:
  AgentLinks& links_;
  std::map<DomainUuid, std::weak_ptr<AgentLink>> open_;
};

}  // namespace rdmove
