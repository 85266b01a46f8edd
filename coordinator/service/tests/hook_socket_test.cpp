// What libvirt's hook is told at each stage of an arrival, over the hook's own socket.
#include "coordinator/service/hook_socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <cstring>

#include "coordinator/hook/question.hpp"
#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

const IncomingQuestion kVm1{DomainUuid("52540077-0000-4000-8000-000000000001"), "vm1"};

class HookSocketTest : public testing::Test {
 protected:
  HookSocketTest() {
    const auto opened = onLoop(hostb_.loop(), [this] {
      socket_.emplace(hostb_.loop(), [this](const DomainUuid& uuid, const std::string& name) {
        return hostb_.coordinator().admit(uuid, name);
      });
      const auto listening = socket_->open(path_);
      return listening ? Result<bool>(true) : tl::unexpected(listening.error());
    });
    EXPECT_TRUE(opened) << opened.error().sentence();
  }
  ~HookSocketTest() override {
    (void)onLoop(hostb_.loop(), [this]() -> Result<bool> {
      socket_->close();
      socket_.reset();
      return true;
    });
  }
  Result<void> ask() { return askWhetherExpected(path_, kVm1, milliseconds(0), milliseconds(5000)); }
  void reserve() {
    v1::ReserveRequest request;
    request.set_migration("vm1-20261130-0a1b2c");
    request.set_domain("vm1");
    request.set_uuid(kVm1.uuid.str());
    request.set_source_host("hosta");
    request.set_hold_ms(60000);
    auto* vf = request.add_vfs();
    vf->set_alias("ua-rdma0");
    vf->set_pool("fabric");
    vf->set_model("roce");
    vf->set_continuity("reconnect");
    vf->set_device_xml("<interface type='bridge'><alias name='ua-rdma0'/></interface>");
    v1::ReserveReply granted;
    const grpc::Status status = hostb_.call(&v1::Partner::Stub::Reserve, request, granted);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void release() {
    v1::ReleaseIdentityRequest request;
    request.set_migration("vm1-20261130-0a1b2c");
    v1::ReleaseIdentityReply reply;
    ASSERT_TRUE(hostb_.call(&v1::Partner::Stub::ReleaseIdentity, request, reply).ok());
  }

  StateDir dir_;
  std::string path_ = dir_.path() / "hook.sock";
  Destination hostb_;
  std::optional<HookSocket> socket_;
};

TEST_F(HookSocketTest, a_vm_that_nobody_reserved_for_is_refused_with_the_command_to_type) {
  const auto may = ask();
  ASSERT_FALSE(may);
  EXPECT_EQ(may.error().code, ErrorCode::kRefused);
  EXPECT_THAT(may.error().sentence(), HasSubstr("rdmove migrate vm1 hostb"));
}

TEST_F(HookSocketTest, a_vm_whose_device_is_still_at_the_source_is_refused_and_its_migration_named) {
  reserve();
  const auto may = ask();
  ASSERT_FALSE(may);
  EXPECT_THAT(may.error().sentence(), HasSubstr("vm1-20261130-0a1b2c"));
}

TEST_F(HookSocketTest, a_vm_whose_identity_is_free_may_come) {
  reserve();
  release();
  EXPECT_TRUE(ask());
}

TEST_F(HookSocketTest, while_libvirt_takes_it_in_nobody_is_told_that_it_is_not_here) {
  reserve();
  release();
  EXPECT_TRUE(ask());
  // libvirt shows it a moment after it has asked; the source's question waits for that moment.
  const auto shown = std::make_shared<std::atomic<bool>>(false);
  ON_CALL(hostb_.hypervisor, find).WillByDefault([shown](const std::string& name) -> Result<DomainStatus> {
    if (!*shown) return failure(ErrorCode::kNotFound, "find " + name, "there is no such domain");
    DomainStatus status;
    status.name = "vm1";
    status.state = DomainState::kRunning;
    return status;
  });
  boost::asio::steady_timer moment(hostb_.loop(), std::chrono::seconds(1));
  moment.async_wait([shown](const boost::system::error_code&) { *shown = true; });
  v1::WithdrawRequest request;
  request.set_migration("vm1-20261130-0a1b2c");
  v1::WithdrawReply reply;
  EXPECT_TRUE(hostb_.call(&v1::Partner::Stub::Withdraw, request, reply).ok());
  EXPECT_TRUE(reply.running_here());
}

TEST_F(HookSocketTest, is_for_its_owner_alone) {
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(HookSocketTest, who_says_something_else_is_told_so_or_left) {
  for (const std::string& line : {std::string("PRI * HTTP/2.0\r\n"), std::string(2000, 'x') + "\n"}) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_GT(send(fd, line.data(), line.size(), MSG_NOSIGNAL), 0);
    std::string answer;
    char piece[256];
    for (ssize_t got; (got = read(fd, piece, sizeof(piece))) > 0;)
      answer.append(piece, static_cast<std::size_t>(got));
    EXPECT_TRUE(answer.empty() || answer.rfind("no ", 0) == 0) << answer;
    close(fd);
  }
  EXPECT_FALSE(ask());  // and it still listens
}

}  // namespace
}  // namespace rdmove
