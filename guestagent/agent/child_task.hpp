// Runs a function in a forked child, for calls that can block in the kernel beyond any signal, and reports
// its exit through a pidfd. The child has none of our descriptors, so one that is stuck keeps neither port
// nor sockets open.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>

#include "guestagent/protocol/error.hpp"

namespace rdmove::agent {

/// `work` returns 0 or an errno and must need nothing but memory and new descriptors. `done` gets that errno.
/// Fails when there can be no child.
protocol::Result<void> run_in_child(boost::asio::io_context& io, const std::function<int()>& work,
                                    std::function<void(int error)> done);

}  // namespace rdmove::agent
