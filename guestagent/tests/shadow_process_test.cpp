// Two programs' shadows, each with its control thread, over real sockets of agents: one is asked to let go of
// its device, which goes and comes back under another name while both have traffic. Devices are in memory
// (shadowdev/fakeverbs). Control threads end with the process, so what they use is never freed.
#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <future>
#include <thread>

#include "guestagent/agent/application_hub.hpp"
#include "guestagent/agent/asio_timers.hpp"
#include "guestagent/agent/shadow_relay.hpp"
#include "guestagent/tests/fakes.hpp"
#include "shadowdev/fakeverbs/fabric.hpp"
#include "shadowdev/fakeverbs/testkit.hpp"
#include "shadowdev/process/control_thread.hpp"

namespace rdmove::agent::test {
namespace {

using namespace std::chrono_literals;
using shadow::fake::End;

/// A guest's agent, as far as programs see it, in a thread of its own.
struct Agent {
  explicit Agent(const std::filesystem::path& folder)
      : timers(io),
        hub(io, timers, folder / "agent.sock"),
        relay(io, folder / "shadow.sock", 0),
        thread([this] { io.run(); }) {}
  ~Agent() {
    io.stop();
    thread.join();
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Does it on the agent's thread, and waits.
  template <class Work>
  auto run(Work work) {
    std::promise<decltype(work())> done;
    boost::asio::post(io, [&] {
      if constexpr (std::is_void_v<decltype(work())>)
        work(), done.set_value();
      else
        done.set_value(work());
    });
    return done.get_future().get();
  }
  std::future<void> ask_to_let_go(std::chrono::milliseconds within) {
    auto released = std::make_shared<std::promise<void>>();
    run([&] {
      hub.quiesce(*protocol::MigrationId::parse("m-1"), within, [released] { released->set_value(); });
    });
    return released->get_future();
  }
  void say_ready() {
    run([&] { hub.ready(*protocol::MigrationId::parse("m-1"), {}); });
  }

  // Made before there are threads: TSan does not see into its library that their first uses wait for one another.
  std::shared_ptr<spdlog::logger> log = spdlog::default_logger();
  boost::asio::io_context io;
  AsioTimers timers;
  ApplicationHub hub;
  ShadowRelay relay;
  std::thread thread;
};

/// A program's shadow. Like the real one it lasts as long as the process.
struct Program {
  Program(shadow::fake::Fabric& on, std::string called, std::uint64_t guid,
          const std::filesystem::path& agent, const std::filesystem::path& relay)
      : fabric(on),
        name(std::move(called)),
        below(fabric),
        link(relay / "shadow.sock", 2s),
        verbs(below, &link, {.control_wait = 30s}),
        control(verbs.engine(), link,
                {agent / "agent.sock", name,
                 [this] {
                   return std::vector{name + "0", name + "1"};
                 },
                 [](const std::string&) {}}) {
    fabric.add_device(name + "0", guid);
    EXPECT_TRUE(link.connect());
    link.announce({shadow::fake::Fabric::gid_of(guid)});
    control.start();
  }
  shadow::fake::Fabric& fabric;
  std::string name;
  shadow::fake::FakeVerbs below;
  shadow::RelayLink link;
  shadow::ShadowVerbs verbs;
  shadow::ControlThread control;
};

class ShadowProcess : public testing::Test {
 protected:
  ShadowProcess() {
    std::thread([fabric = fabric] {
      for (;;)
        if (!fabric->step()) std::this_thread::sleep_for(100us);  // the wire has no event
    }).detach();
    while (a_guest.run([&] { return a_guest.hub.count(); }) + b_guest.run([&] {
      return b_guest.hub.count();
    }) < 2)
      std::this_thread::yield();
  }
  /// Polls as programs do, until there are so many.
  static std::vector<std::uint64_t> take(End& end, std::size_t many) {
    std::vector<std::uint64_t> got;
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (got.size() < many && std::chrono::steady_clock::now() < until) {
      for (const ibv_wc& wc : end.poll()) {
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        got.push_back(wc.wr_id);
      }
      std::this_thread::yield();
    }
    return got;
  }

  TemporaryFolder a_folder, b_folder;
  Agent a_guest{a_folder.path}, b_guest{b_folder.path};
  shadow::fake::Fabric* fabric = new shadow::fake::Fabric(7);
  // Both ask through one agent: how questions cross guests is shadow_relay_test's.
  Program& left = *new Program(*fabric, "left", 1, a_folder.path, a_folder.path);
  Program& right = *new Program(*fabric, "right", 2, b_folder.path, a_folder.path);
};

TEST_F(ShadowProcess, letsGoWhenTheAgentAsksAndComesBackWhenItIsReady) {
  auto& a = *new End(left.verbs, "left0");
  auto& b = *new End(right.verbs, "right0");
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_EQ(b.receive(i, 64 * i, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 100, 0, 64, IBV_SEND_SIGNALED), 0);

  auto released = a_guest.ask_to_let_go(20s);
  ASSERT_EQ(released.wait_for(20s), std::future_status::ready);
  ASSERT_TRUE(fabric->remove_device("left0")) << "something holds it";
  ASSERT_EQ(a.send(IBV_WR_SEND, 101, 0, 64, IBV_SEND_SIGNALED), 0);  // while it is away
  fabric->add_device("left1", 1);
  a_guest.say_ready();
  ASSERT_EQ(a.send(IBV_WR_SEND, 102, 0, 64, IBV_SEND_SIGNALED), 0);
  EXPECT_THAT(take(a, 3), testing::ElementsAre(100, 101, 102));
  EXPECT_THAT(take(b, 3), testing::ElementsAre(0, 1, 2));
}

TEST_F(ShadowProcess, doesNotLetGoOfWhatIsUnderWayAndGoesOn) {
  auto& a = *new End(left.verbs, "left0");
  auto& b = *new End(right.verbs, "right0");
  End::connect(a, b);
  ASSERT_EQ(a.send(IBV_WR_SEND, 100, 0, 64, IBV_SEND_SIGNALED), 0);  // and nobody posts a receive
  auto released = a_guest.ask_to_let_go(500ms);
  EXPECT_EQ(released.wait_for(700ms), std::future_status::timeout);
  a_guest.run([&] { a_guest.hub.resume(); });
  ASSERT_EQ(b.receive(1, 0, 64), 0);
  ASSERT_EQ(b.receive(2, 0, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 101, 0, 64, IBV_SEND_SIGNALED), 0);
  EXPECT_THAT(take(a, 2), testing::ElementsAre(100, 101));
  EXPECT_THAT(take(b, 2), testing::ElementsAre(1, 2));
}

TEST_F(ShadowProcess, bothMayBeAskedAtOnce) {
  auto& a = *new End(left.verbs, "left0");
  auto& b = *new End(right.verbs, "right0");
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(b.receive(i, 64 * i, 64), 0);
  auto a_let_go = a_guest.ask_to_let_go(20s);
  auto b_let_go = b_guest.ask_to_let_go(20s);
  ASSERT_EQ(a_let_go.wait_for(20s), std::future_status::ready);
  ASSERT_EQ(b_let_go.wait_for(20s), std::future_status::ready);
  ASSERT_TRUE(fabric->remove_device("left0") && fabric->remove_device("right0"));
  ASSERT_EQ(a.send(IBV_WR_SEND, 100, 0, 64, IBV_SEND_SIGNALED), 0);
  fabric->add_device("right1", 2);
  b_guest.say_ready();
  fabric->add_device("left1", 1);
  a_guest.say_ready();
  EXPECT_THAT(take(a, 1), testing::ElementsAre(100));
  EXPECT_THAT(take(b, 1), testing::ElementsAre(0));
}

TEST_F(ShadowProcess, aDeviceIsClosedWhenTheMoveIsOver) {
  ibv_context* context = left.verbs.open("left0");
  ASSERT_NE(context, nullptr);
  auto released = a_guest.ask_to_let_go(20s);
  ASSERT_EQ(released.wait_for(20s), std::future_status::ready);
  std::promise<int> closed;
  std::thread closes([&] { closed.set_value(left.verbs.close(context)); });
  auto result = closed.get_future();
  EXPECT_EQ(result.wait_for(50ms), std::future_status::timeout);
  a_guest.say_ready();
  ASSERT_EQ(result.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(result.get(), 0);
  closes.join();
}

TEST_F(ShadowProcess, aDeviceIsNotOpenedWhileTheyAreToGo) {
  auto released = a_guest.ask_to_let_go(20s);
  ASSERT_EQ(released.wait_for(20s), std::future_status::ready);
  std::promise<ibv_context*> opened;
  std::thread opens([&] {
    const shadow::ControlThread::Opening opening(left.control);
    opened.set_value(left.verbs.open("left0"));
  });
  auto context = opened.get_future();
  EXPECT_EQ(context.wait_for(50ms), std::future_status::timeout);
  a_guest.say_ready();
  ASSERT_EQ(context.wait_for(20s), std::future_status::ready);
  EXPECT_NE(context.get(), nullptr);
  opens.join();
}

}  // namespace
}  // namespace rdmove::agent::test
