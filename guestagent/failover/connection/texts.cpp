#include "rdmove/connection.hpp"

namespace rdmove::failover {

std::string_view to_text(ConnectionState state) {
  switch (state) {
    case ConnectionState::Connecting:
      return "connecting";
    case ConnectionState::Up:
      return "up";
    case ConnectionState::Down:
      return "down";
    case ConnectionState::Gone:
      return "gone";
  }
  return "?";
}

std::string_view to_text(DownReason reason) {
  switch (reason) {
    case DownReason::Quiesced:
      return "quiesced";
    case DownReason::DeviceRemoved:
      return "device removed";
    case DownReason::DeviceFatal:
      return "device failed";
    case DownReason::Disconnected:
      return "disconnected";
    case DownReason::Broken:
      return "broken";
    case DownReason::Replaced:
      return "replaced";
    case DownReason::Requested:
      return "requested";
  }
  return "?";
}

std::string_view to_text(GoneReason reason) {
  switch (reason) {
    case GoneReason::Closed:
      return "closed";
    case GoneReason::PeerClosed:
      return "peer closed";
    case GoneReason::PeerRestarted:
      return "peer restarted";
    case GoneReason::PeerEnded:
      return "peer ended";
    case GoneReason::Refused:
      return "refused";
    case GoneReason::WrongPeer:
      return "wrong peer";
    case GoneReason::Incompatible:
      return "incompatible";
    case GoneReason::TimedOut:
      return "timed out";
  }
  return "?";
}

}  // namespace rdmove::failover
