// Runs bytes as a script against a session: what a peer sends, what the link does, what the application asks.
// Shared by the fuzzer and by the test that runs the kept corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmove::failover::channel::fuzz {

/// Aborts if the session promises more than its memory holds, or delivers what it must not.
void run_script(std::span<const std::uint8_t> script);

}  // namespace rdmove::failover::channel::fuzz
