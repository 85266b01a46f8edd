#include "coordinator/preflight/adapter_checks.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rdmove {

Adapter adapterOf(const DeviceAlias& alias, const PfInfo& pf) {
  return {alias, pf.driver, pf.firmware, pf.mtu, pf.speed_mbit, pf.pfc, pf.ets};
}

std::vector<Finding> compareAdapters(const Adapter& source, const PfInfo& here, const std::string& host) {
  std::vector<Finding> findings;
  const auto warn = [&](const char* code, std::string sentence, std::string remedy) {
    findings.push_back({Severity::kWarning, code, std::move(sentence), std::move(remedy), host});
  };
  const std::string& alias = source.alias.str();
  const std::string pf = here.netdev.empty() ? here.pci : here.netdev;
  if (!source.driver.empty() && !here.driver.empty() && source.driver != here.driver) {
    warn("other-driver",
         fmt::format("Device {} leaves an adapter of {} and comes to {}, which is of {}.", alias,
                     source.driver, pf, here.driver),
         "The guest needs the drivers of both kinds of VF.");
  } else if (!source.firmware.empty() && !here.firmware.empty() && source.firmware != here.firmware) {
    warn("other-firmware",
         fmt::format("Device {} leaves an adapter with firmware {} and comes to {}, which has {}.", alias,
                     source.firmware, pf, here.firmware),
         "Bring both to one version, if what differs matters to the guest.");
  }
  if (source.mtu && here.mtu && *here.mtu < *source.mtu) {
    warn("smaller-mtu",
         fmt::format("Device {} leaves an adapter with MTU {} and comes to {}, which has {}.", alias,
                     *source.mtu, pf, *here.mtu),
         fmt::format("ip link set {} mtu {}, if the guest uses so much.", pf, *source.mtu));
  }
  if (source.speed_mbit && here.speed_mbit && *here.speed_mbit < *source.speed_mbit) {
    warn("slower-link",
         fmt::format("Device {} leaves a link of {} Mbit/s and comes to {}, which has {} Mbit/s.", alias,
                     *source.speed_mbit, pf, *here.speed_mbit),
         "Look at cable and switch port, if it should be as fast.");
  }
  // A driver without DCB pauses no priority.
  const auto paused = [](const std::string& pfc) { return pfc.empty() ? std::string("none") : pfc; };
  if (paused(source.pfc) != paused(here.pfc)) {
    warn("other-pfc",
         fmt::format("Device {} leaves a port that pauses priorities {} (PFC) and comes to {}, which pauses {}.",
                     alias, paused(source.pfc), pf, paused(here.pfc)),
         "RoCE loses packets in a class that one side does not pause: set both alike (dcb pfc, mlnx_qos, lldptool).");
  }
  if (source.ets != here.ets && !source.ets.empty() && !here.ets.empty()) {
    warn("other-ets",
         fmt::format("Device {} leaves a link shared out as {}; {} has {}.", alias, source.ets, pf, here.ets),
         "Set both alike (dcb ets, mlnx_qos, lldptool), if the VM counts on its share.");
  }
  return findings;
}

std::vector<Finding> compareClocks(std::chrono::system_clock::time_point source,
                                   std::chrono::system_clock::time_point here, const std::string& host) {
  constexpr std::chrono::seconds kMuch{2};  // a call takes its time too
  const auto apart = here - source;
  if (std::chrono::abs(apart) < kMuch) return {};
  return {{Severity::kWarning, "clocks",
           fmt::format("The clock of {} is {:.1f} s {} that of the source.", host,
                       std::abs(std::chrono::duration<double>(apart).count()),
                       apart.count() > 0 ? "before" : "behind"),
           "Let both follow one time server (chrony); timelines and logs are compared by these clocks.",
           host}};
}

}  // namespace rdmove
