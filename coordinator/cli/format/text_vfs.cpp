// VFs and PFs as text.
#include <fmt/format.h>

#include <algorithm>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/table.hpp"
#include "coordinator/cli/format/text_formatter.hpp"

namespace rdmove::cli {
namespace {

std::string userText(const v1::VfUser& user) {
  return user.pid() == 0 ? user.what() : fmt::format("{} (pid {})", user.name(), user.pid());
}

/// The domain, or else whoever of the host has it.
std::string userOf(const v1::VfStatus& vf) {
  if (!vf.domain().empty() || vf.users().empty()) return vf.domain();
  const std::string first = userText(vf.users(0));
  return vf.users_size() == 1 ? first : fmt::format("{} and {} more", first, vf.users_size() - 1);
}

std::string numaText(const auto& message) {
  return message.has_numa_node() ? std::to_string(message.numa_node()) : std::string();
}

using Lines = std::vector<std::pair<std::string, std::string>>;

/// What has no value is left out.
std::string aligned(const Lines& lines) {
  std::size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, value.empty() ? 0 : name.size());
  std::string out;
  for (const auto& [name, value] : lines) {
    if (!value.empty()) out += fmt::format("{:<{}}  {}\n", name, width, printable(value));
  }
  return out;
}

std::string section(const char* title, const google::protobuf::RepeatedPtrField<v1::NamedValue>& values) {
  if (values.empty()) return {};
  Lines lines;
  for (const auto& value : values) lines.emplace_back("  " + printable(value.name()), value.value());
  return fmt::format("{}\n{}", title, aligned(lines));
}

}  // namespace

std::string TextFormatter::format(const v1::ListVfsReply& reply) const {
  if (reply.vfs().empty() && reply.pfs().empty()) return "no VFs: name a pool in rdmoved's configuration\n";
  Table vfs({"VF", "POOL", "KIND", "PARENT", "MAC", "DRIVER", "RDMA", "NUMA", "STATE", "USED BY"});
  for (const auto& vf : reply.vfs()) {
    vfs.add({vf.name(), vf.pool(), vf.kind(), vf.parent(), vf.mac(), vf.driver(), vf.rdma(), numaText(vf),
             vf.state(), userOf(vf)});
  }
  if (reply.pfs().empty()) return vfs.str();
  Table pfs({"PF", "POOL", "NETDEV", "RDMA", "LINK", "DRIVER", "FIRMWARE", "NUMA", "VFS"});
  for (const auto& pf : reply.pfs()) {
    pfs.add({pf.pci(), pf.pool(), pf.netdev(), pf.rdma().empty() ? "off" : pf.rdma(), pf.link_layer(),
             pf.driver(), pf.firmware(), numaText(pf), fmt::format("{} of {}", pf.vfs(), pf.most_vfs())});
  }
  return vfs.str() + '\n' + pfs.str();
}

std::string TextFormatter::format(const v1::ShowVfReply& reply) const {
  const v1::VfStatus& vf = reply.vf();
  Lines lines = {{"vf", vf.name()},
                 {"pool", fmt::format("{} ({})", vf.pool(), vf.kind())},
                 {"state", vf.state()},
                 {"used by", vf.domain()}};
  for (const auto& user : vf.users())
    lines.emplace_back("opened by", user.pid() == 0 ? user.what() : userText(user) + ", " + user.what());
  if (vf.kind() == "sriov") {
    lines.emplace_back("function", fmt::format("VF {} of {} ({})", vf.index(), vf.parent(), vf.pf()));
    lines.emplace_back("driver", vf.driver().empty() ? "none" : vf.driver());
    lines.emplace_back("rdma device", vf.rdma());
    lines.emplace_back("interface", vf.netdev());
    lines.emplace_back("link layer", vf.link_layer());
    lines.emplace_back("firmware", vf.firmware());
    lines.emplace_back("numa node", numaText(vf));
    lines.emplace_back("iommu group", vf.has_iommu_group() ? std::to_string(vf.iommu_group()) : "none");
  } else {
    lines.emplace_back("bridge", vf.parent());
    lines.emplace_back("mac", vf.mac());
  }
  if (reply.has_pf()) {
    const v1::PfStatus& pf = reply.pf();
    lines.emplace_back("pf",
                       fmt::format("{} {} {}, {} of {} VFs", pf.driver(), pf.netdev(),
                                   pf.rdma().empty() ? "without RDMA" : pf.rdma(), pf.vfs(), pf.most_vfs()));
  }
  return aligned(lines) + section("told by the driver", reply.told()) +
         section("before it was given an identity", reply.before()) + section("given", reply.given());
}

}  // namespace rdmove::cli
