// The journal's rows of evacuations.
#include "journal_fixture.hpp"

namespace rdmove::journal_tests {
namespace {

const EvacuationId kId("evacuation-hosta-x");

EvacuationRecord evacuation(const std::string& id = kId.str()) {
  EvacuationRecord record;
  record.id = EvacuationId(id);
  record.request = R"({"max_parallel":2})";
  return record;
}

EvacuatedVm vm(const std::string& name) {
  EvacuatedVm made;
  made.uuid = DomainUuid("uuid-" + name);
  made.domain = name;
  made.need = "{}";
  made.destination = HostName("hostb");
  return made;
}

class EvacuationsTest : public JournalTest {};

TEST_F(EvacuationsTest, comes_back_with_its_vms_in_their_order) {
  EXPECT_OK(journal->beginEvacuation(evacuation(), {vm("vm2"), vm("vm1")}));
  EvacuatedVm moved = vm("vm1");
  moved.state = EvacuatedState::kMoved;
  moved.migration = MigrationId("vm1-x");
  moved.reason = "r";
  moved.tried = "[]";
  moved.began_us = 5;
  moved.ended_us = 9;
  EXPECT_OK(journal->keepEvacuated(kId, moved));
  EXPECT_OK(journal->cancelEvacuation(kId));
  reopen();
  const auto all = journal->evacuations().value();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, kId);
  EXPECT_EQ(all[0].request, R"({"max_parallel":2})");
  EXPECT_TRUE(all[0].cancelled);
  EXPECT_EQ(all[0].outcome, EvacuationOutcome::kRunning);
  EXPECT_NE(all[0].created_us, 0);
  const auto vms = journal->evacuated(kId).value();
  ASSERT_EQ(vms.size(), 2U);
  EXPECT_EQ(vms[0].domain, "vm2");
  EXPECT_EQ(vms[1].domain, "vm1");
  EXPECT_EQ(vms[1].state, EvacuatedState::kMoved);
  EXPECT_EQ(vms[1].migration, MigrationId("vm1-x"));
  EXPECT_EQ(vms[1].destination, HostName("hostb"));
  EXPECT_EQ(vms[1].reason, "r");
  EXPECT_EQ(vms[1].tried, "[]");
  EXPECT_EQ(vms[1].began_us, 5);
  EXPECT_EQ(vms[1].ended_us, 9);
}

TEST_F(EvacuationsTest, there_is_one_at_a_time) {
  EXPECT_OK(journal->beginEvacuation(evacuation(), {vm("vm1")}));
  const auto second = journal->beginEvacuation(evacuation("evacuation-hosta-y"), {vm("vm1")});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_NE(second.error().sentence().find("rdmove watch evacuation-hosta-x"), std::string::npos);
  EXPECT_OK(journal->finishEvacuation(kId, EvacuationOutcome::kIncomplete));
  EXPECT_OK(journal->beginEvacuation(evacuation("evacuation-hosta-y"), {vm("vm1")}));
  EXPECT_EQ(journal->evacuations().value().at(0).id, EvacuationId("evacuation-hosta-y"))
      << "the newest first";
}

TEST_F(EvacuationsTest, what_is_not_there_cannot_be_written) {
  EXPECT_CODE(journal->keepEvacuated(kId, vm("vm1")), ErrorCode::kNotFound);
  EXPECT_CODE(journal->cancelEvacuation(kId), ErrorCode::kNotFound);
  EXPECT_CODE(journal->finishEvacuation(kId, EvacuationOutcome::kCompleted), ErrorCode::kNotFound);
  EXPECT_OK(journal->beginEvacuation(evacuation(), {vm("vm1")}));
  EXPECT_CODE(journal->keepEvacuated(kId, vm("vm2")), ErrorCode::kNotFound);
}

TEST_F(EvacuationsTest, the_newest_hundred_are_kept_with_their_vms) {
  for (int i = 0; i < 103; ++i) {
    EvacuationRecord record = evacuation("e" + std::to_string(i));
    record.created_us = i + 1;
    EXPECT_OK(journal->beginEvacuation(record, {vm("vm1")}));
    EXPECT_OK(journal->finishEvacuation(record.id, EvacuationOutcome::kCompleted));
  }
  EXPECT_EQ(journal->evacuations().value().size(), 101U) << "a hundred, and the one that began last";
  EXPECT_TRUE(journal->evacuated(EvacuationId("e0")).value().empty());
  EXPECT_EQ(journal->evacuated(EvacuationId("e102")).value().size(), 1U);
}

}  // namespace
}  // namespace rdmove::journal_tests
