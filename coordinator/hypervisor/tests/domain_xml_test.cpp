#include "coordinator/hypervisor/domain_xml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/hypervisor/tests/real_domain.hpp"
#include "coordinator/hypervisor/tests/sample_domains.hpp"

namespace rdmove {
namespace {

using samples::domainWith;
using samples::kBridgeNic;
using samples::kHostdevNic;
using samples::kPlainHostdev;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const DeviceAlias kRdma0{"ua-rdma0"};

TEST(FindDevice, tells_kind_mac_and_guest_address) {
  const auto device = findDevice(domainWith(kBridgeNic), kRdma0);
  ASSERT_TRUE(device) << device.error().sentence();
  EXPECT_EQ(device->kind, "interface");
  EXPECT_EQ(device->mac->str(), "52:54:00:77:00:01");
  EXPECT_EQ(device->pci_address, "0000:02:00.0");
  EXPECT_THAT(device->element, HasSubstr("vnet3"));
}

TEST(FindDevice, finds_a_plain_hostdev) {
  const auto device = findDevice(domainWith(kPlainHostdev), DeviceAlias("ua-ib0"));
  ASSERT_TRUE(device) << device.error().sentence();
  EXPECT_EQ(device->kind, "hostdev");
  EXPECT_FALSE(device->mac);
  EXPECT_EQ(device->pci_address, "0000:04:00.0");
}

TEST(FindDevice, tells_the_transient_half_of_a_teaming_pair) {
  const std::string alias = "<alias name='ua-rdma0'/>";
  const auto device = [&](const std::string& teaming) {
    return findDevice(domainWith("<interface type='hostdev'>" + alias + teaming + "</interface>"), kRdma0);
  };
  EXPECT_TRUE(device("<teaming type='transient' persistent='ua-net0'/>")->teamed);
  EXPECT_FALSE(device("<teaming type='persistent'/>")->teamed);
  EXPECT_FALSE(device("")->teamed);
}

TEST(FindDevice, says_which_alias_is_missing) {
  const auto device = findDevice(domainWith(""), kRdma0);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(device.error().sentence(), HasSubstr("ua-rdma0"));
}

TEST(FindDevice, refuses_other_kinds_duplicates_and_the_empty_alias) {
  EXPECT_THAT(findDevice(domainWith(""), DeviceAlias("ua-agent0")).error().cause, HasSubstr("<channel>"));
  EXPECT_THAT(findDevice(domainWith(kBridgeNic + kBridgeNic), kRdma0).error().cause,
              HasSubstr("two devices"));
  EXPECT_EQ(findDevice(domainWith(""), DeviceAlias()).error().code, ErrorCode::kBadInput);
}

TEST(FindDevice, refuses_what_is_not_a_domain_or_too_much) {
  std::string deep;
  for (int i = 0; i < 200000; ++i) deep += "<a>";
  std::string nested = "<domain>";
  for (int i = 0; i < 100; ++i) nested += "<a>";
  for (int i = 0; i < 100; ++i) nested += "</a>";
  nested += "</domain>";
  const std::string large = "<domain>" + std::string(1024 * 1024, ' ') + "</domain>";
  const std::string texts[] = {"",
                               "x",
                               "<domain>",
                               "<network/>",
                               "<domain/><domain/>",
                               large,
                               deep,
                               nested,
                               std::string("<domain>\0</domain>", 18)};
  for (const std::string& text : texts) {
    EXPECT_EQ(findDevice(text, kRdma0).error().code, ErrorCode::kBadInput) << text.substr(0, 40);
  }
}

TEST(ReplaceDevice, replaces_in_place_and_leaves_the_rest_alone) {
  const std::string moved = bindToBridge(kBridgeNic, "other").value();
  const auto domain = replaceDevice(domainWith(kBridgeNic), kRdma0, moved);
  ASSERT_TRUE(domain) << domain.error().sentence();
  EXPECT_THAT(*domain, Not(HasSubstr("vnet3")));
  EXPECT_TRUE(sameForGuest(findDevice(*domain, kRdma0)->element, kBridgeNic));
  for (const char* kept : {"a&amp;b", "vnet2", "urn:rdmove:domain:1", "org.rdmove.agent.0"}) {
    EXPECT_THAT(*domain, HasSubstr(kept));
  }
}

TEST(ReplaceDevice, adds_what_is_absent) {
  const auto domain = replaceDevice(domainWith(""), kRdma0, kBridgeNic);
  ASSERT_TRUE(domain) << domain.error().sentence();
  EXPECT_TRUE(findDevice(*domain, kRdma0));
}

TEST(ReplaceDevice, refuses_an_element_with_another_alias) {
  EXPECT_EQ(replaceDevice(domainWith(kBridgeNic), kRdma0, kHostdevNic).error().code, ErrorCode::kBadInput);
}

TEST(ClaimedVfs, lists_pci_sources_of_both_kinds_once) {
  const std::string usb =
      "<hostdev mode='subsystem' type='usb'><source><address bus='1' device='2'/></source></hostdev>";
  const auto claimed = claimedVfs(domainWith(kBridgeNic + kHostdevNic + kPlainHostdev + kPlainHostdev + usb));
  ASSERT_TRUE(claimed) << claimed.error().sentence();
  EXPECT_THAT(*claimed, ElementsAre("0000:3b:00.2", "0000:af:1f.7"));
  EXPECT_THAT(claimedVfs(domainWith(kBridgeNic)).value(), IsEmpty());
}

TEST(RealDomain, its_device_travels_to_another_bridge_and_stays_the_guests) {
  const auto device = findDevice(samples::kRealDomain, kRdma0);
  ASSERT_TRUE(device) << device.error().sentence();
  EXPECT_EQ(device->pci_address, "0000:06:00.0");
  const auto bound = bindToBridge(portableDevice(device->element).value(), "br7");
  ASSERT_TRUE(bound) << bound.error().sentence();
  EXPECT_THAT(*bound, Not(HasSubstr("vnet1")));
  const auto domain = replaceDevice(samples::kRealDomain, kRdma0, *bound);
  ASSERT_TRUE(domain) << domain.error().sentence();
  const auto again = findDevice(*domain, kRdma0);
  ASSERT_TRUE(again) << again.error().sentence();
  EXPECT_TRUE(sameForGuest(again->element, device->element));
  EXPECT_THAT(again->element, HasSubstr("br7"));
  EXPECT_THAT(claimedVfs(*domain).value(), IsEmpty());
}

TEST(LockableMemory, is_what_libvirt_writes) {
  const auto plain = lockableMemory("<domain type='kvm'><memory unit='KiB'>4194304</memory></domain>");
  ASSERT_TRUE(plain) << plain.error().sentence();
  EXPECT_EQ(plain->memory_kib, 4194304U);
  EXPECT_FALSE(plain->hard_limit_kib);
  const auto limited = lockableMemory(
      "<domain type='kvm'><memory unit='KiB'>4194304</memory><memtune><hard_limit "
      "unit='KiB'>4194304</hard_limit>"
      "</memtune></domain>");
  ASSERT_TRUE(limited);
  EXPECT_EQ(limited->hard_limit_kib, 4194304U);
  EXPECT_FALSE(lockableMemory("<domain type='kvm'/>"));
}

TEST(DomainXml, what_a_domain_takes_of_its_host_counts_plugged_vcpus) {
  const auto all = domainSize("<domain><memory unit='KiB'>1024</memory><vcpu>4</vcpu></domain>");
  ASSERT_TRUE(all) << all.error().sentence();
  EXPECT_EQ(all->memory_kib, 1024U);
  EXPECT_EQ(all->vcpus, 4U);
  EXPECT_EQ(domainSize("<domain><memory unit='KiB'>1</memory><vcpu current='2'>4</vcpu></domain>")->vcpus,
            2U);
  EXPECT_EQ(domainSize("<domain><memory unit='KiB'>1</memory></domain>")->vcpus, 1U);
  EXPECT_FALSE(domainSize("<domain/>"));
}

TEST(DomainXml, tells_what_a_guest_needs_of_the_machine) {
  const auto guest = guestMachine(
      "<domain type='kvm'><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>"
      "<cpu mode='host-passthrough' check='none'/></domain>");
  ASSERT_TRUE(guest) << guest.error().sentence();
  EXPECT_EQ(guest->arch, "x86_64");
  EXPECT_EQ(guest->virt_type, "kvm");
  EXPECT_EQ(guest->machine, "pc-q35-7.2");
  EXPECT_THAT(guest->cpu, HasSubstr("host-passthrough"));
  EXPECT_TRUE(seesHostCpu(*guest));
  const auto model = guestMachine("<domain type='qemu'><cpu mode='custom'><model>qemu64</model></cpu></domain>");
  ASSERT_TRUE(model);
  EXPECT_FALSE(seesHostCpu(*model));
  EXPECT_EQ(model->machine, "");
  EXPECT_EQ(guestMachine("<domain type='qemu'/>")->cpu, "");
  EXPECT_FALSE(seesHostCpu(GuestMachine()));
}

TEST(DomainXml, a_hosts_cpu_is_in_its_capabilities) {
  EXPECT_THAT(hostCpuOf("<capabilities><host><cpu><arch>x86_64</arch><model>EPYC</model></cpu></host></capabilities>")
                  .value(),
              AllOf(HasSubstr("<cpu>"), HasSubstr("EPYC")));
  EXPECT_EQ(hostCpuOf("<capabilities><host/></capabilities>").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rdmove
