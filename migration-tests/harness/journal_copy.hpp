// What a host's journal says, read from a copy of its files beside the running daemon (docs/journal.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rdmove::harness {

struct JournalRows {
  std::vector<std::string> leases;      ///< "br0#3 of vm1-20261130-0a1b2c"
  std::vector<std::string> unfinished;  ///< of the VM asked for: "vm1-20261130-0a1b2c arrival in Plugging"
  std::vector<std::string> given;       ///< VFs that still have the record of an identity: "0000:3b:00.2"
};

/// nullopt when the copy cannot be read: the daemon wrote between the copying of its two files. Copy again
/// then.
std::optional<JournalRows> readJournalCopy(const std::filesystem::path& state_dir,
                                           const std::string& vm_uuid);

}  // namespace rdmove::harness
