// The rdmove element of a domain's <metadata>, namespace urn:rdmove:domain:1: which of its devices move, and
// as whom. Format page: docs/metadata.md. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

inline constexpr const char* kMetadataUri = "urn:rdmove:domain:1";
inline constexpr const char* kMetadataKey = "rdmove";

struct DomainDeclaration {
  std::vector<VfDeclaration> vfs;      ///< at most 16
  std::optional<DeviceAlias> standby;  ///< the paravirtual NIC that carries traffic meanwhile
};

/// `element` is the <rdma> element alone, as virDomainGetMetadata returns it. Names the attribute that is
/// wrong.
Result<DomainDeclaration> parseDeclaration(const std::string& element);
std::string formatDeclaration(const DomainDeclaration& declaration);

}  // namespace rdmove
