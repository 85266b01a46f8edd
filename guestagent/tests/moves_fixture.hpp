// A guest made of fakes around Moves, for the tests of prepare and restore.
#pragma once

#include <gmock/gmock.h>

#include "guestagent/agent/moves.hpp"
#include "guestagent/protocol/inventory.hpp"
#include "guestagent/tests/fake_addressing.hpp"
#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {

using protocol::ErrorCode;
using protocol::HoldoutsResult;
using protocol::MissingPiece;
using protocol::PrepareResult;
using protocol::RestoreResult;
using testing::ElementsAre;
using testing::IsEmpty;

inline const auto m1 = *protocol::MigrationId::parse("m1");
inline const auto m2 = *protocol::MigrationId::parse("m2");

class MovesTest : public testing::Test {
 protected:
  void prepare(protocol::MigrationId migration = m1, bool force = false,
               protocol::DeviceTarget device = soft) {
    moves->prepare({migration, milliseconds(2000), force, {device}},
                   [this](const auto& answer) { prepared.push_back(answer); });
  }
  void restore(protocol::MigrationId migration = m1, protocol::DeviceTarget device = soft) {
    moves->restore({migration, milliseconds(1000), {device}},
                   [this](const auto& answer) { restored.push_back(answer); });
  }
  void restart_agent() { moves = std::make_unique<Moves>(services, on_ready); }
  void prepare_fully() {
    prepare();
    rdma.finish_removal("rxe0");
    ASSERT_TRUE(prepared.back());
  }
  void replug(int index = 3, const std::string& name = "eth1") {
    network.unplug();
    moves->links_changed();
    network.plug(index, name);
    moves->links_changed();
  }

  TemporaryFolder folder;
  FakeTimers timers;
  FakeNetwork network;
  FakeRdma rdma{network};
  FakeProcesses processes;
  FakeApplications applications;
  FakeAnnouncer announcer;
  CaptureStore store{folder.path, "boot"};
  FakeManagers managers;
  FakeAddressEvents address_events;
  FakeLeases leases;
  FakeRdmaSettings rdma_settings;
  FakeGidEvents gid_events;
  Services services{network, rdma,     processes,      applications, announcer,     timers,
                    store,   managers, address_events, leases,       rdma_settings, gid_events};
  std::vector<protocol::Ready> ready;
  Moves::OnReady on_ready = [this](const protocol::Ready& r) { ready.push_back(r); };
  std::vector<Result<PrepareResult>> prepared;
  std::vector<Result<RestoreResult>> restored;
  std::unique_ptr<Moves> moves = std::make_unique<Moves>(services, on_ready);
};

}  // namespace rdmove::agent::test
