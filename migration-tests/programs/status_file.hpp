// /run/rdma-beat.json: the counters, for whoever looks in from outside. Rewritten whole and renamed into
// place.
#pragma once

#include <string>

namespace beat {

void write_status(const std::string& path, const std::string& json);

}  // namespace beat
