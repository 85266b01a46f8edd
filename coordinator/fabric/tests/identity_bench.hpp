// What the tests of identities work on: a host of the fixture's with one adapter, and identities of each
// kind. Tests only.
#pragma once

#include <gtest/gtest.h>

#include "coordinator/fabric/identity/vf_identity.hpp"
#include "coordinator/fabric/sysfs_sriov.hpp"
#include "coordinator/fabric/tests/fixture/fake_adapter.hpp"

namespace rdmove::fabric {

inline const Guid kNode(0x0002c903000a1b2c);
inline const Guid kPort(0x0002c903000a1b2d);

inline Identity guids() {
  Identity identity;
  identity.node_guid = kNode;
  identity.port_guid = kPort;
  return identity;
}
inline Identity alias() {
  Identity identity;
  identity.port_guid = kPort;
  identity.pkeys = {PartitionKey(0x8001), PartitionKey(0xffff)};
  return identity;
}
inline Identity ethernet() {
  Identity identity;
  identity.mac = MacAddress::parse("52:54:00:77:00:01");
  identity.vlan = 7;
  identity.vlan_priority = 3;
  identity.trust = true;
  identity.spoof_check = true;
  identity.max_rate = 1000;
  return identity;
}

/// A host with one adapter, and the VF 0 that is worked on.
struct Bench {
  explicit Bench(const AdapterSpec& spec)
      : adapter(host.add(spec)),
        files(host.files()),
        port(makeVfPorts(*files, host.netlink())),
        identity(*files, *port),
        at{readPf(*files, spec.pci)->place, 0, adapter.vfs()[0].pci} {}

  FakeVf& vf() { return adapter.vfs()[0]; }
  VfMemory plan(const Identity& wanted, const std::optional<VfMemory>& kept = std::nullopt) {
    auto planned = identity.plan(at, wanted, kept);
    EXPECT_TRUE(planned) << planned.error().sentence();
    return planned.value_or(VfMemory{});
  }

  FakeHost host;
  FakeAdapter& adapter;
  std::unique_ptr<SysfsFiles> files;
  std::unique_ptr<VfPort> port;
  VfIdentity identity;
  VfPlace at;
};

inline AdapterSpec bound(AdapterSpec spec, const std::string& driver) {
  spec.vf_driver = driver;
  return spec;
}

/// Runs `act` once for each effect that it has, with that one failing, on a host made anew by `prepare`.
inline void failEach(const AdapterSpec& spec, const std::function<void(Bench&)>& prepare,
                     const std::function<Result<void>(Bench&)>& act) {
  for (int effect = 1; effect < 100; ++effect) {
    Bench bench(spec);
    prepare(bench);
    const std::string before = bench.host.snapshot();
    bench.host.effects = 0;
    bench.host.fail_at = effect;
    const auto done = act(bench);
    if (bench.host.effects < effect) {
      EXPECT_TRUE(done) << done.error().sentence();
      EXPECT_GT(effect, 1) << "it has no effect";
      return;
    }
    ASSERT_FALSE(done) << "effect " << effect << " failed, and nobody said so";
    EXPECT_NE(done.error().code, ErrorCode::kInternal) << done.error().sentence();
    EXPECT_EQ(bench.host.snapshot(), before) << "effect " << effect << ": " << done.error().sentence();
  }
  FAIL() << "it does not end";
}

}  // namespace rdmove::fabric
