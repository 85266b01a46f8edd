// The partners of the configuration, as gRPC clients: one channel each, kept open, mutual TLS unless
// insecure.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "coordinator/migration/partner.hpp"
#include "coordinator/service/config.hpp"

namespace rdmove {

/// Fails when a TLS file cannot be read; the error names it.
Result<std::unique_ptr<Partners>> makePartners(const Config& config, const std::string& instance,
                                               boost::asio::io_context& loop);

}  // namespace rdmove
