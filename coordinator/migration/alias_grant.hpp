// Has the subnet manager granted a shared-port VF its GUID? mlx4's driver takes any, asks the SM for it, and
// shows what came of that in its own table (drivers/infiniband/hw/mlx4/alias_GUID.c). A worker's thread.
#pragma once

#include <optional>
#include <string>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/fabric/subnet/moved_port.hpp"

namespace rdmove {

/// A warning, when the GUID that `declared` asks for is not granted by the time that patience ends. Nothing
/// for a driver that does not tell, and for other models.
std::optional<std::string> aliasNotGranted(Fabric& fabric, const VfName& vf, const VfDeclaration& declared,
                                           Patience& patience);

}  // namespace rdmove
