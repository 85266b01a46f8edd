// The RoCE v2 GID that the kernel makes of an IP address.
#pragma once

#include <string>

namespace rdmove::agent {

/// "10.0.0.5/24" -> "0000:0000:0000:0000:0000:ffff:0a00:0005"; empty if it is no address.
std::string gid_of_address(const std::string& address);

}  // namespace rdmove::agent
