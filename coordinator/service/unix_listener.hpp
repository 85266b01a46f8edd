// Opens a unix socket of the daemon for others to connect to. Loop thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <string>

#include "coordinator/base/result.hpp"

namespace rdmove {

/// Replaces a socket that a dead daemon left; a live one is refused. `mode` holds from the first moment on.
Result<void> listenOn(boost::asio::local::stream_protocol::acceptor& acceptor, const std::string& path,
                      mode_t mode);

}  // namespace rdmove
