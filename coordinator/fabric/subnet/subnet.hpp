// Questions to an InfiniBand subnet: to its administration (SA, IBA 15.2) and to a port by its LID. Asked
// from one port of this host. Calls block until the answer or their time-out: a worker's, not the loop's.
// Implemented by MadSubnet over libibmad and libibumad; faked in tests.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "coordinator/base/result.hpp"
#include "coordinator/fabric/subnet/gid.hpp"

namespace rdmove {

/// A port's address within its subnet, 1 to 0xbfff; 0: none.
enum class Lid : std::uint16_t {};

struct Path {
  Lid to{};
  Lid from{};
  PartitionKey pkey;
  bool operator==(const Path&) const = default;
};

struct SubnetNode {
  Lid lid{};
  Guid node_guid;
  Guid port_guid;
  bool operator==(const SubnetNode&) const = default;
};

/// The other end of a port's cable.
struct Attachment {
  Lid lid{};
  unsigned port = 0;
  auto operator<=>(const Attachment&) const = default;
};

/// Full, non- and send-only membership (IBA 15.2.5.17): bits.
enum class JoinState : unsigned { Full = 1, Non = 2, SendOnly = 4 };

class Subnet {
 public:
  virtual ~Subnet() = default;

  // Nothing: the SA has no such record (any more, or not yet). Errors: kTimeout, nobody has answered;
  // kUnavailable, the port is down or there is no SM; kRefused, the SA's status is in the cause.

  /// This port's own.
  virtual Result<Lid> self() = 0;
  /// The subnet's prefix: the first half of every GID in it.
  virtual Result<std::uint64_t> prefix() = 0;
  /// PathRecord from this port.
  virtual Result<std::optional<Path>> path(const Gid& to) = 0;
  /// NodeRecord by port GUID, or by LID.
  virtual Result<std::optional<SubnetNode>> node(Guid port_guid) = 0;
  virtual Result<std::optional<SubnetNode>> node(Lid lid) = 0;
  /// LinkRecord of a node's port.
  virtual Result<std::optional<Attachment>> attachment(Lid lid, unsigned port) = 0;
  /// Not the SA's word but the port's own: NodeInfo of whoever answers at this LID.
  virtual Result<SubnetNode> ask(Lid lid) = 0;

  /// MCMemberRecord, for this port or another that the SA lets it speak for. kRefused: another partition's, a
  /// port that is not there.
  virtual Result<void> join(const Gid& group, const Gid& port, JoinState state) = 0;
  /// InformInfo for all ports: this trap's number (64: a port is in service, 65: out of service).
  virtual Result<void> subscribe(unsigned trap, bool on) = 0;
  /// An alias GUID of the port at `lid`: sets one of the rows 1 to 7 of GUIDInfoRecord block 0; a Guid of 0
  /// takes it away. The answer is what the SM made of it: it may have said yes and kept nothing
  /// (docs/models.md), so look at it.
  virtual Result<Guid> setAliasGuid(Lid lid, unsigned row, Guid guid) = 0;
};

}  // namespace rdmove
