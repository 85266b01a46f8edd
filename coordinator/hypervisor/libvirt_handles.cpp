#include "coordinator/hypervisor/libvirt_handles.hpp"

#include <cstdlib>
#include <string_view>

namespace rdmove {
namespace {

ErrorCode mapped(const virError& error) {
  // What the RPC layer reports is about the wire, not about the request.
  if (error.domain == VIR_FROM_RPC || error.domain == VIR_FROM_STREAMS) return ErrorCode::kUnavailable;
  switch (error.code) {
    case VIR_ERR_NO_DOMAIN:
    case VIR_ERR_DEVICE_MISSING:
    case VIR_ERR_NO_DOMAIN_METADATA:
    case VIR_ERR_NO_NODE_DEVICE:
      return ErrorCode::kNotFound;
    case VIR_ERR_OPERATION_TIMEOUT:  // "cannot acquire state change lock"
    case VIR_ERR_RESOURCE_BUSY:
      return ErrorCode::kConflict;
    case VIR_ERR_OPERATION_ABORTED:
      return ErrorCode::kCancelled;
    case VIR_ERR_OPERATION_INVALID:
    case VIR_ERR_OPERATION_DENIED:
    case VIR_ERR_OPERATION_UNSUPPORTED:
    case VIR_ERR_NO_SUPPORT:
    case VIR_ERR_CONFIG_UNSUPPORTED:
    case VIR_ERR_ARGUMENT_UNSUPPORTED:
    case VIR_ERR_AUTH_FAILED:
    case VIR_ERR_AUTH_CANCELLED:
    case VIR_ERR_AUTH_UNAVAILABLE:
    case VIR_ERR_ACCESS_DENIED:
    case VIR_ERR_MIGRATE_UNSAFE:
      return ErrorCode::kRefused;
    case VIR_ERR_XML_ERROR:
    case VIR_ERR_XML_DETAIL:
    case VIR_ERR_XML_INVALID_SCHEMA:
    case VIR_ERR_INVALID_ARG:
      return ErrorCode::kBadInput;
    case VIR_ERR_NO_CONNECT:
    case VIR_ERR_INVALID_CONN:
    case VIR_ERR_AGENT_UNRESPONSIVE:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

std::string remedyFor(const virError& error, std::string_view message) {
  if (message.find("No more available PCI slots") != message.npos) {
    return "Add pcie-root-port controllers to the domain's definition and start it anew: they cannot be "
           "hot-plugged.";
  }
  switch (error.code) {
    case VIR_ERR_MIGRATE_UNSAFE:
      return "Put the disks on shared storage with cache='none', or use --copy-storage-all.";
    case VIR_ERR_OPERATION_TIMEOUT:
      return "Another job runs on the domain; see virsh domjobinfo.";
    case VIR_ERR_AUTH_FAILED:
    case VIR_ERR_AUTH_UNAVAILABLE:
    case VIR_ERR_ACCESS_DENIED:
      return "Check libvirt's access control and TLS certificates.";
    case VIR_ERR_NO_DOMAIN:
      return "See virsh list --all.";
    default:
      return {};
  }
}

}  // namespace

void CFree::operator()(void* memory) const {
  std::free(memory);
}

tl::unexpected<Error> libvirtFailure(std::string attempted) {
  const virError* error = virGetLastError();
  if (error == nullptr) return failure(ErrorCode::kInternal, std::move(attempted), "libvirt gave no reason");
  const std::string message = error->message != nullptr ? error->message : "no message";
  return failure(mapped(*error), std::move(attempted), "libvirt: " + message, remedyFor(*error, message));
}

int lastLibvirtCode() {
  const virError* error = virGetLastError();
  return error == nullptr ? static_cast<int>(VIR_ERR_OK) : error->code;
}

Result<DomainRef> lookup(const ConnectionRef& connection, const DomainUuid& uuid,
                         const std::string& attempted) {
  DomainRef domain(virDomainLookupByUUIDString(connection.get(), uuid.str().c_str()));
  if (!domain) return libvirtFailure(attempted);
  return domain;
}

}  // namespace rdmove
