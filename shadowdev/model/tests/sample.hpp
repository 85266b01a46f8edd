// A process with one of everything.
#pragma once

#include "shadowdev/model/objects.hpp"

namespace rdmove::shadow::model::test {

inline Process sample() {
  Process process;
  process.contexts.push_back({ObjectId{1}, "rxe0", {0xFE, 0x80}, Presence::Parked, 3});
  process.pds.push_back({ObjectId{2}, ObjectId{1}});
  process.regions.push_back({ObjectId{3}, ObjectId{2}, 0x7F0000, 4096, 0x7F0000, 7, MemoryKey{0x100},
                             MemoryKey{0x100}, MemoryKey{0x200}, MemoryKey{0x200}});
  process.channels.push_back({ObjectId{4}, ObjectId{1}, 1});
  process.cqs.push_back({ObjectId{5}, ObjectId{1}, ObjectId{4}, 64, Armed::Any, {{9, 0, 128, 64}}});
  process.srqs.push_back({ObjectId{6}, ObjectId{2}, 8, 1, 0, {{77, {{0x7F0000, 64, MemoryKey{0x100}}}}}});
  process.ahs.push_back({ObjectId{7}, ObjectId{2}, {}});
  QueuePair qp;
  qp.id = ObjectId{8};
  qp.pd = ObjectId{2};
  qp.send_cq = qp.recv_cq = ObjectId{5};
  qp.state = QpState::Rts;
  qp.phase = Phase::Parked;
  qp.number = QueuePairNumber{17};
  qp.max_send_wr = qp.max_recv_wr = 4;
  qp.max_send_sge = qp.max_recv_sge = 1;
  qp.send_psn = PacketSequenceNumber{0xFFFFFF};
  Send send;
  send.wr_id = 5;
  send.rkey = MemoryKey{0x300};
  send.inlined = {1, 2, 3};
  qp.held.push_back(send);
  qp.receives.push_back({78, {}});
  process.qps.push_back(qp);
  process.shells.push_back({ObjectId{9}, ObjectId{8}, 2, true});
  return process;
}

}  // namespace rdmove::shadow::model::test
