// One migration as a page of its own: no script, nothing from a network, light and dark. The picture is the
// timeline renderer's. Pure; any thread.
#pragma once

#include <string>

#include "coordinator/service/api/local.pb.h"

namespace rdmove::cli {

/// All that it shows is taken for hostile text: names come from domains and guests.
std::string reportPage(const v1::ShowReply& show, const v1::TimelineReply& timeline);

}  // namespace rdmove::cli
