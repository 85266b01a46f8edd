#include "shadowdev/gsi/cm_router.hpp"

namespace rdmove::gsi {

// The port has already refused a GRH whose source is not the function's.
Verdict CmByGid::outbound(FunctionId, CmMessageType, Datagram& datagram, TimePoint) {
  return datagram.grh ? Verdict::ToWire : Verdict::NoGrh;
}

std::optional<FunctionId> CmByGid::inbound(CmMessageType, Datagram& datagram, TimePoint, Verdict& why) {
  if (!datagram.grh) {
    why = Verdict::NoGrh;
    return std::nullopt;
  }
  const auto function = owners_.owner(datagram.grh->destination);
  why = function ? Verdict::ToFunction : Verdict::NoFunction;
  return function;
}

}  // namespace rdmove::gsi
