// Against real libvirt and QEMU, in a lab that is up: skipped unless RDMOVE_LAB_URI is set.
//   RDMOVE_LAB_URI, RDMOVE_LAB_PEER_URI  the two hosts' libvirtd, as this program reaches them (unix sockets)
//   RDMOVE_LAB_DESTINATION, RDMOVE_LAB_BACK  the second host for the first's libvirtd, and the first for the
//   second's RDMOVE_LAB_TOOL  the `lab` command, to act in the guest and on libvirtd;  RDMOVE_LAB_VM  the
//   domain ("vm1")
// The domain has a device ua-rdma0 and a channel org.rdmove.agent.0 that nobody in the guest reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <thread>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/libvirt_hypervisor.hpp"
#include "coordinator/hypervisor/tests/recording_listener.hpp"

namespace rdmove {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string env(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

const DeviceAlias kDevice{"ua-rdma0"};
const std::string kPort = "org.rdmove.agent.0";

class Bytes : public ChannelListener {
 public:
  void onBytes(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    text_ += bytes;
    changed_.notify_all();
  }
  void onClosed(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    ++closed_;
    why_ = why;
    changed_.notify_all();
  }
  bool waitForText(const std::string& wanted, std::chrono::seconds limit = 15s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return text_.find(wanted) != std::string::npos; });
  }
  bool waitForClosed(std::chrono::seconds limit = 15s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return closed_ > 0; });
  }
  int closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  std::string why() {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_, why_;
  int closed_ = 0;
};

struct Host {
  RecordingListener events;
  std::unique_ptr<Hypervisor> libvirt;
  std::string next;  ///< the other host, as this one's libvirtd reaches it
};

class LibvirtLab : public testing::Test {
 protected:
  void SetUp() override {
    if (env("RDMOVE_LAB_URI").empty()) GTEST_SKIP() << "RDMOVE_LAB_URI is not set: no lab";
    open(first_, env("RDMOVE_LAB_URI"), env("RDMOVE_LAB_DESTINATION"));
    open(second_, env("RDMOVE_LAB_PEER_URI"), env("RDMOVE_LAB_BACK"));
    at_ = &first_;
    away_ = &second_;
    auto found = first_.libvirt->find(vm_);
    if (!found || found->state == DomainState::kShutOff) {
      std::swap(at_, away_);
      found = second_.libvirt->find(vm_);
    }
    ASSERT_TRUE(found) << found.error().sentence();
    uuid_ = found->uuid;
    const auto device = findDevice(at_->libvirt->xml(uuid_, XmlKind::kInactive).value(), kDevice);
    ASSERT_TRUE(device) << device.error().sentence();
    portable_ = portableDevice(device->element).value();
    attach();  // if a test that failed left it out
  }

  void open(Host& host, const std::string& uri, const std::string& next) {
    auto made = makeLibvirtHypervisor(uri, loop_, host.events);
    ASSERT_TRUE(made) << made.error().sentence();
    host.libvirt = std::move(*made);
    host.next = next;
    ASSERT_TRUE(host.events.waitFor("connected"));
  }

  void inGuest(const std::string& command) {
    EXPECT_EQ(std::system((env("RDMOVE_LAB_TOOL") + " guest " + vm_ + " -- '" + command + "'").c_str()), 0);
  }
  void echoInGuest() {
    // a port whose host side is closed reads as its end: try again
    inGuest(
        "(while :; do read -r l && echo \"$l\" || sleep 0.2; done) <>$(ls /dev/vport*p1) >&0 2>/dev/null & "
        "echo $! >/tmp/echo");
  }
  void endEcho() { inGuest("kill $(cat /tmp/echo)"); }

  void detach() {
    const auto asked = at_->libvirt->detach(uuid_, kDevice);
    ASSERT_TRUE(asked) << asked.error().sentence();
    ASSERT_TRUE(at_->events.waitFor("removed ua-rdma0"));
    const auto left = findDevice(at_->libvirt->xml(uuid_, XmlKind::kLive).value(), kDevice);
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error().code, ErrorCode::kNotFound);
  }
  void attach() {
    const auto attached = at_->libvirt->attach(uuid_, bindToBridge(portable_, "br0").value());
    ASSERT_TRUE(attached) << attached.error().sentence();
    const auto device = findDevice(at_->libvirt->xml(uuid_, XmlKind::kLive).value(), kDevice);
    ASSERT_TRUE(device) << device.error().sentence();
    EXPECT_TRUE(sameForGuest(device->element, portable_)) << device->element << portable_;
  }

  MigrationRequest request() {
    MigrationRequest request;
    request.domain = uuid_;
    request.destination_uri = at_->next;
    request.persistent = at_->libvirt->find(vm_).value().persistent;
    if (request.persistent) request.persist_xml = at_->libvirt->xml(uuid_, XmlKind::kInactive).value();
    return request;
  }
  std::future<Result<void>> start(const MigrationRequest& request) {
    return std::async(std::launch::async, [this, request] { return at_->libvirt->migrate(request); });
  }
  void waitForJob() {
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while (!at_->libvirt->find(vm_).value().migration_job && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(10ms);
    }
  }

  const std::string vm_ = env("RDMOVE_LAB_VM", "vm1");
  LibvirtEventLoop loop_;
  Host first_, second_;
  Host *at_ = nullptr, *away_ = nullptr;
  DomainUuid uuid_;
  std::string portable_;
};

TEST_F(LibvirtLab, a_device_leaves_and_comes_back_as_the_same) {
  detach();
  attach();
  attach();  // present already is success
  std::string other = bindToBridge(portable_, "br0").value();
  other.replace(other.find("52:54:00"), 8, "52:54:11");
  const auto refused = at_->libvirt->attach(uuid_, other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused) << refused.error().sentence();
  const auto absent = at_->libvirt->detach(uuid_, DeviceAlias("ua-nothing"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound) << absent.error().sentence();
}

TEST_F(LibvirtLab, the_channel_talks_and_can_be_opened_again) {
  echoInGuest();
  for (int round = 0; round < 5; ++round) {
    Bytes bytes;
    auto channel = at_->libvirt->openChannel(uuid_, kPort, bytes);
    for (int i = 0; !channel && channel.error().code == ErrorCode::kConflict && i < 50; ++i) {
      std::this_thread::sleep_for(20ms);  // the last round's is still being given up
      channel = at_->libvirt->openChannel(uuid_, kPort, bytes);
    }
    ASSERT_TRUE(channel) << channel.error().sentence();
    ASSERT_TRUE(
        (*channel)->send("round " + std::to_string(round) + "\n" + std::string(50000, 'x') + " end\n"));
    EXPECT_TRUE(bytes.waitForText("round " + std::to_string(round)));
    EXPECT_TRUE(bytes.waitForText("x end"));
    Bytes none;
    const auto second = at_->libvirt->openChannel(uuid_, kPort, none);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict) << second.error().sentence();
    channel->reset();
    EXPECT_EQ(bytes.closed(), 0);
  }
  endEcho();
  Bytes none;
  const auto unknown = at_->libvirt->openChannel(uuid_, "org.rdmove.nobody", none);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound) << unknown.error().sentence();
}

TEST_F(LibvirtLab, a_guest_that_does_not_read_exhausts_the_queue_and_blocks_nobody) {
  Bytes bytes;
  auto channel = at_->libvirt->openChannel(uuid_, kPort, bytes);
  ASSERT_TRUE(channel) << channel.error().sentence();
  Result<void> sent;
  for (int i = 0; i < 200 && sent; ++i) sent = (*channel)->send(std::string(64 * 1024, 'x'));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kExhausted) << sent.error().sentence();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(at_->libvirt->find(vm_));
  EXPECT_TRUE(at_->libvirt->xml(uuid_, XmlKind::kLive));
  channel->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 2s);
}

TEST_F(LibvirtLab, migrates_with_events_there_and_back) {
  for (int leg = 0; leg < 2; ++leg) {
    Bytes bytes;
    auto channel = at_->libvirt->openChannel(uuid_, kPort, bytes);
    ASSERT_TRUE(channel) << channel.error().sentence();
    detach();
    auto moving = start(request());
    waitForJob();
    EXPECT_TRUE(at_->libvirt->progress(uuid_).value().active);
    EXPECT_TRUE(
        away_->events.waitFor(RecordingListener::line(Lifecycle::kStarted, LifecycleDetail::kMigrated)));
    const auto incoming = away_->libvirt->find(vm_);
    ASSERT_TRUE(incoming) << incoming.error().sentence();
    std::printf("incoming: %s job=%d\n", incoming->state_text.c_str(), incoming->migration_job);
    EXPECT_TRUE(incoming->migration_job);
    EXPECT_TRUE(
        away_->events.waitFor(RecordingListener::line(Lifecycle::kResumed, LifecycleDetail::kMigrated), 60s));
    std::swap(at_, away_);
    attach();
    EXPECT_TRUE(bytes.waitForClosed());
    EXPECT_EQ(bytes.closed(), 1);
    std::printf("source channel: %s\n", bytes.why().c_str());
    const auto done = moving.get();
    EXPECT_TRUE(done) << done.error().sentence();
    EXPECT_TRUE(
        away_->events.waitFor(RecordingListener::line(Lifecycle::kStopped, LifecycleDetail::kMigrated)));
    EXPECT_EQ(away_->libvirt->find(vm_).error().code, ErrorCode::kNotFound);
    const auto arrived = at_->libvirt->find(vm_);
    EXPECT_EQ(arrived->run_reason, RunReason::kMigrated) << arrived->state_text;
  }
}

TEST_F(LibvirtLab, the_other_host_has_what_the_guest_runs_on_and_says_what_it_has_not) {
  const auto guest = guestMachine(at_->libvirt->xml(uuid_, XmlKind::kLive).value());
  ASSERT_TRUE(guest) << guest.error().sentence();
  ASSERT_FALSE(guest->machine.empty());
  const auto fits = away_->libvirt->judge(*guest);
  ASSERT_TRUE(fits) << fits.error().sentence();
  EXPECT_EQ(fits->machine, "");
  EXPECT_EQ(fits->cpu, "");

  GuestMachine newer = *guest;
  newer.machine = "pc-q35-99.0";
  EXPECT_NE(away_->libvirt->judge(newer)->machine.find("pc-q35-99.0"), std::string::npos);
  GuestMachine richer = *guest;  // TCG has nothing of AVX-512
  richer.cpu = "<cpu mode='custom' match='exact'><model>qemu64</model><feature policy='require' name='avx512er'/></cpu>";
  EXPECT_NE(away_->libvirt->judge(richer)->cpu.find("avx512er"), std::string::npos)
      << away_->libvirt->judge(richer)->cpu;

  GuestMachine passed = *guest;
  const auto cpu = at_->libvirt->hostCpu();
  ASSERT_TRUE(cpu) << cpu.error().sentence();
  passed.host_cpu = *cpu;
  EXPECT_EQ(away_->libvirt->judge(passed)->host_cpu, "") << "both hosts are one machine";
}

TEST_F(LibvirtLab, an_aborted_migration_is_cancelled_and_the_source_runs) {
  MigrationRequest slow = request();
  slow.bandwidth_mib = 1;
  auto moving = start(slow);
  waitForJob();
  while (!at_->libvirt->abortJob(uuid_)) std::this_thread::sleep_for(20ms);
  const auto done = moving.get();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kCancelled) << done.error().sentence();
  EXPECT_EQ(at_->libvirt->find(vm_)->state, DomainState::kRunning);
}

TEST_F(LibvirtLab, postcopy_suspends_the_source_and_ends_as_migrated) {
  detach();
  MigrationRequest wanted = request();
  wanted.postcopy = true;
  wanted.bandwidth_mib = 8;
  auto moving = start(wanted);
  waitForJob();
  while (true) {
    const auto switched = at_->libvirt->startPostcopy(uuid_);
    if (switched) break;
    if (moving.wait_for(20ms) == std::future_status::ready) break;
  }
  EXPECT_TRUE(
      at_->events.waitFor(RecordingListener::line(Lifecycle::kSuspended, LifecycleDetail::kPostcopy)));
  // The destination says RESUMED(postcopy) before only when memory is not complete by libvirt's finish phase.
  EXPECT_TRUE(
      away_->events.waitFor(RecordingListener::line(Lifecycle::kResumed, LifecycleDetail::kMigrated), 60s));
  const auto done = moving.get();
  EXPECT_TRUE(done) << done.error().sentence();
  std::swap(at_, away_);
  attach();
}

TEST_F(LibvirtLab, a_destination_that_is_not_there_is_unavailable) {
  MigrationRequest wrong = request();
  wrong.destination_uri = "qemu+tcp://127.0.0.1:9/system";
  const auto done = at_->libvirt->migrate(wrong);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable) << done.error().sentence();
  std::printf("%s\n", done.error().sentence().c_str());
}

TEST_F(LibvirtLab, the_connection_heals_when_libvirtd_comes_back) {
  const std::string host = at_ == &first_ ? "hosta" : "hostb";
  Bytes bytes;
  auto channel = at_->libvirt->openChannel(uuid_, kPort, bytes);
  ASSERT_TRUE(channel) << channel.error().sentence();
  ASSERT_EQ(std::system((env("RDMOVE_LAB_TOOL") + " libvirtd kill " + host).c_str()), 0);
  EXPECT_TRUE(at_->events.waitFor("disconnected"));
  EXPECT_TRUE(bytes.waitForClosed());
  EXPECT_EQ(at_->libvirt->find(vm_).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(at_->libvirt->suspend(uuid_).error().code, ErrorCode::kUnavailable);
  ASSERT_EQ(std::system((env("RDMOVE_LAB_TOOL") + " libvirtd start " + host).c_str()), 0);
  ASSERT_TRUE(at_->events.waitFor("connected", 30s));
  EXPECT_EQ(at_->libvirt->find(vm_)->state, DomainState::kRunning);
  ASSERT_TRUE(at_->libvirt->suspend(uuid_));
  EXPECT_TRUE(at_->events.waitFor(RecordingListener::line(Lifecycle::kSuspended)));
  ASSERT_TRUE(at_->libvirt->resume(uuid_));
  EXPECT_EQ(bytes.closed(), 1);
}

}  // namespace
}  // namespace rdmove
