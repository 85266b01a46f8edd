// Snapshots for people: one line an object, and what differs between two. Plain values, any thread.
#pragma once

#include <string>
#include <vector>

#include "shadowdev/model/objects.hpp"

namespace rdmove::shadow::model {

/// "qp 7: pd=2 send_cq=4 …", lists as their length unless `deep`.
std::string dump(const Process& process, bool deep);
/// "qp 7: state 3 -> 6"; "mr 5: only in the first". Empty: they are the same.
std::vector<std::string> diff(const Process& first, const Process& second);

}  // namespace rdmove::shadow::model
