// The words of a scenario's values and what they stand for: one table each, for reading and for telling.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "migration-tests/harness/scenario.hpp"

namespace rdmove::harness::words {

template <class T, std::size_t N>
using Table = std::array<std::pair<std::string_view, T>, N>;

inline constexpr Table<FaultKind, 12> kKinds{{{"kill", FaultKind::kKill},
                                              {"stop", FaultKind::kStop},
                                              {"restart", FaultKind::kRestart},
                                              {"network", FaultKind::kNetwork},
                                              {"journal", FaultKind::kJournal},
                                              {"clock", FaultKind::kClock},
                                              {"agent-garbage", FaultKind::kGarbage},
                                              {"unplug-ignored", FaultKind::kUnplugIgnored},
                                              {"attach-fails", FaultKind::kAttachFails},
                                              {"device-vanishes", FaultKind::kDeviceVanishes},
                                              {"host-gone", FaultKind::kHostGone},
                                              {"cancel", FaultKind::kCancel}}};

inline constexpr Table<Process, 5> kProcesses{{{"daemon", Process::kDaemon},
                                               {"libvirtd", Process::kLibvirtd},
                                               {"qemu", Process::kQemu},
                                               {"agent", Process::kAgent},
                                               {"command", Process::kCommand}}};

inline constexpr Table<Side, 2> kSides{{{"source", Side::kSource}, {"destination", Side::kDestination}}};

/// "" when it is not there, which is a defect of the table.
template <class T, std::size_t N>
constexpr std::string_view wordFor(const Table<T, N>& table, T value) {
  for (const auto& [word, meaning] : table)
    if (meaning == value) return word;
  return "";
}

}  // namespace rdmove::harness::words
