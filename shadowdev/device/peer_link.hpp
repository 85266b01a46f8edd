// How one shadow asks another. The link has proven from which GID a question comes, and answers are as
// bounded as questions. Called without any lock of the device.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rdmove::shadow {

class PeerLink {
 public:
  virtual ~PeerLink() = default;
  /// Nothing: nobody shadows this GID, or the question or its answer was lost.
  virtual std::optional<std::vector<std::byte>> ask(const ibv_gid& from, const ibv_gid& to,
                                                    std::span<const std::byte> question) = 0;
  /// Who has met whom: our GID, and that of the other side.
  virtual std::vector<std::pair<ibv_gid, ibv_gid>> known() = 0;
};

}  // namespace rdmove::shadow
