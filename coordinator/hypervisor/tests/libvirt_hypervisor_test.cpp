// The parts of LibvirtHypervisor that libvirt's built-in test driver serves: no daemon, no QEMU.
#include "coordinator/hypervisor/libvirt_hypervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/hypervisor/tests/recording_listener.hpp"

namespace rdmove {
namespace {

using testing::HasSubstr;

class LibvirtHypervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = makeLibvirtHypervisor("test:///default", loop_, listener_);
    ASSERT_TRUE(made) << made.error().sentence();
    hypervisor_ = std::move(*made);
    ASSERT_TRUE(listener_.waitFor("connected"));
    uuid_ = hypervisor_->find("test").value().uuid;
  }

  LibvirtEventLoop loop_;
  RecordingListener listener_;
  std::unique_ptr<Hypervisor> hypervisor_;
  DomainUuid uuid_;
};

TEST_F(LibvirtHypervisorTest, finds_by_name_and_by_uuid) {
  const auto by_name = hypervisor_->find("test");
  ASSERT_TRUE(by_name) << by_name.error().sentence();
  EXPECT_EQ(by_name->state, DomainState::kRunning);
  EXPECT_TRUE(by_name->persistent);
  EXPECT_FALSE(by_name->migration_job);
  EXPECT_EQ(by_name->state_text, "running");
  EXPECT_EQ(hypervisor_->find(uuid_.str()).value().name, "test");
}

TEST_F(LibvirtHypervisorTest, an_absent_domain_is_not_found) {
  for (const char* name : {"nobody", "00000000-0000-0000-0000-000000000000"}) {
    EXPECT_EQ(hypervisor_->find(name).error().code, ErrorCode::kNotFound) << name;
  }
  EXPECT_EQ(hypervisor_->xml(DomainUuid("not-a-uuid"), XmlKind::kLive).error().code, ErrorCode::kBadInput);
}

TEST_F(LibvirtHypervisorTest, lists_and_reads_definitions) {
  const auto all = hypervisor_->list();
  ASSERT_TRUE(all) << all.error().sentence();
  ASSERT_EQ(all->size(), 1U);
  EXPECT_THAT(hypervisor_->xml(uuid_, XmlKind::kLive).value(), HasSubstr("<domain type='test' id='1'>"));
  EXPECT_THAT(hypervisor_->xml(uuid_, XmlKind::kInactive).value(), HasSubstr("<domain type='test'>"));
}

TEST_F(LibvirtHypervisorTest, follows_suspend_resume_destroy) {
  ASSERT_TRUE(hypervisor_->suspend(uuid_));
  EXPECT_TRUE(listener_.waitFor(RecordingListener::line(Lifecycle::kSuspended)));
  EXPECT_EQ(hypervisor_->find("test").value().state, DomainState::kPaused);
  ASSERT_TRUE(hypervisor_->resume(uuid_));
  EXPECT_TRUE(hypervisor_->resume(uuid_)) << "running already is what was asked";
  EXPECT_TRUE(listener_.waitFor(RecordingListener::line(Lifecycle::kResumed)));
  ASSERT_TRUE(hypervisor_->destroy(uuid_));
  EXPECT_TRUE(listener_.waitFor(RecordingListener::line(Lifecycle::kStopped)));
  EXPECT_TRUE(hypervisor_->destroy(uuid_));
  EXPECT_EQ(hypervisor_->find("test").value().state, DomainState::kShutOff);
}

TEST_F(LibvirtHypervisorTest, defines) {
  ASSERT_TRUE(
      hypervisor_->define("<domain type='test'><name>second</name><memory>1024</memory>"
                          "<os><type>hvm</type></os></domain>"));
  EXPECT_TRUE(listener_.waitFor(RecordingListener::line(Lifecycle::kDefined)));
  EXPECT_EQ(hypervisor_->find("second").value().state, DomainState::kShutOff);
  EXPECT_EQ(hypervisor_->define("<domain").error().code, ErrorCode::kBadInput);
}

TEST_F(LibvirtHypervisorTest, metadata_is_written_read_and_removed) {
  EXPECT_EQ(hypervisor_->metadata(uuid_, XmlKind::kLive).value(), std::nullopt);
  DomainDeclaration declaration;
  declaration.vfs = {{DeviceAlias("ua-rdma0"), PoolName("a&b"), Model::kRoce, Continuity::kPark, {}}};
  for (const XmlKind kind : {XmlKind::kLive, XmlKind::kInactive}) {
    const auto written = hypervisor_->setMetadata(uuid_, kind, formatDeclaration(declaration));
    ASSERT_TRUE(written) << written.error().sentence();
    const auto read = hypervisor_->metadata(uuid_, kind);
    ASSERT_TRUE(read && *read);
    EXPECT_EQ(parseDeclaration(**read).value().vfs, declaration.vfs);
  }
  EXPECT_THAT(hypervisor_->xml(uuid_, XmlKind::kLive).value(), HasSubstr("urn:rdmove:domain:1"));
  ASSERT_TRUE(hypervisor_->setMetadata(uuid_, XmlKind::kLive, std::nullopt));
  EXPECT_EQ(hypervisor_->metadata(uuid_, XmlKind::kLive).value(), std::nullopt);
}

TEST_F(LibvirtHypervisorTest, attach_needs_a_user_alias) {
  EXPECT_EQ(hypervisor_->attach(uuid_, "<interface type='bridge'/>").error().code, ErrorCode::kBadInput);
}

TEST_F(LibvirtHypervisorTest, what_the_driver_cannot_is_said) {
  class NoBytes : public ChannelListener {
    void onBytes(std::string_view) override {}
    void onClosed(const std::string&) override {}
  } bytes;
  EXPECT_EQ(hypervisor_->openChannel(uuid_, "org.rdmove.agent.0", bytes).error().code, ErrorCode::kRefused);
  MigrationRequest request;
  request.domain = uuid_;
  request.destination_uri = "test:///default";
  EXPECT_FALSE(hypervisor_->migrate(request));
  EXPECT_THAT(hypervisor_->version().value(), HasSubstr("libvirt "));
}

TEST_F(LibvirtHypervisorTest, no_call_of_the_listener_after_destruction) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(hypervisor_->suspend(uuid_));
    ASSERT_TRUE(hypervisor_->resume(uuid_));
  }
  hypervisor_.reset();
  const std::size_t told = listener_.told();
  std::promise<void> served;  // what libvirt had queued on its loop is behind us then
  loop_.post([&] { loop_.post([&] { served.set_value(); }); });
  served.get_future().get();
  EXPECT_EQ(listener_.told(), told);
}

TEST(LibvirtHypervisorOpen, says_what_is_wrong_with_the_address) {
  LibvirtEventLoop loop;
  RecordingListener listener;
  const auto made = makeLibvirtHypervisor("qemu+unix:///system?socket=/nowhere/sock", loop, listener);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(made.error().sentence(), HasSubstr("/nowhere/sock"));
}

TEST(LibvirtEventLoopTest, runs_what_is_posted_on_its_own_thread_one_loop_at_a_time) {
  for (int round = 0; round < 3; ++round) {
    LibvirtEventLoop loop;
    EXPECT_THROW(LibvirtEventLoop(), std::logic_error);
    std::promise<std::thread::id> where;
    loop.post([&] { where.set_value(std::this_thread::get_id()); });
    EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
  }
}

}  // namespace
}  // namespace rdmove
