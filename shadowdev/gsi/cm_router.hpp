// Which function a connection manager's message is for. Two strategies behind one interface, because each
// costs something: CmByGid keeps nothing but needs a GRH in every CM message of both ends; CmByCommId works
// without one, and keeps an entry per connection, with a time limit. Owned by the port; no threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "shadowdev/gsi/cm_message.hpp"
#include "shadowdev/gsi/verdict.hpp"

namespace rdmove::gsi {

/// How the port finds the owner of a GID.
class GidOwners {
 public:
  virtual ~GidOwners() = default;
  [[nodiscard]] virtual std::optional<FunctionId> owner(const Gid& gid) const = 0;
};

/// In the serialised state (docs/gsi.md); never renumber.
enum class CmPhase : std::uint8_t {
  Asked = 1,        ///< our REQ or SIDR_REQ left
  Answered = 2,     ///< our REP or MRA left
  Established = 3,  ///< an RTU was seen, either way
  Closing = 4,      ///< a DREQ or REJ was seen; late messages still find their way
};

/// One connection of a function, as it migrates with it.
struct CmConnection {
  CommId of_function{};  ///< as the guest knows it
  CommId on_wire{};      ///< as the peer knows it: kept for the life of the connection, on every port
  std::optional<CommId> of_peer;
  Lid peer{};
  CmPhase phase = CmPhase::Asked;
  bool is_sidr = false;
  std::optional<milliseconds> expires_in;  ///< nothing: lives until it is closed
  bool operator==(const CmConnection&) const = default;
};

class CmRouter {
 public:
  virtual ~CmRouter() = default;
  /// What a function sends. May put other ids into it. ToWire, or why it does not leave.
  virtual Verdict outbound(FunctionId from, CmMessageType type, Datagram& datagram, TimePoint now) = 0;
  /// Whose message this is, with the ids as that function knows them; or nobody's. `why` says why.
  virtual std::optional<FunctionId> inbound(CmMessageType type, Datagram& datagram, TimePoint now,
                                            Verdict& why) = 0;
  virtual void expire(TimePoint) {}
  [[nodiscard]] virtual std::optional<TimePoint> next_deadline() const { return std::nullopt; }
  virtual void forget(FunctionId) {}
  [[nodiscard]] virtual std::vector<CmConnection> connections(FunctionId, TimePoint) const { return {}; }
  /// Takes over a function's connections. Nothing of them may be there yet.
  virtual void adopt(FunctionId, const std::vector<CmConnection>&, TimePoint) {}
};

/// By the GRH: its destination GID is the function's. Nothing is kept, so nothing has to migrate.
class CmByGid final : public CmRouter {
 public:
  explicit CmByGid(const GidOwners& owners) : owners_(owners) {}
  Verdict outbound(FunctionId from, CmMessageType type, Datagram& datagram, TimePoint now) override;
  std::optional<FunctionId> inbound(CmMessageType type, Datagram& datagram, TimePoint now,
                                    Verdict& why) override;

 private:
  const GidOwners& owners_;
};

}  // namespace rdmove::gsi
