// What the shadow device holds, as the model has it: for snapshots. Under the engine's control lock, which
// this takes. Programs may post meanwhile: each queue is as it was at one moment, the whole is not.
#pragma once

#include "shadowdev/device/engine.hpp"
#include "shadowdev/model/objects.hpp"

namespace rdmove::shadow {

model::Process snapshot_of(Engine& engine);

}  // namespace rdmove::shadow
