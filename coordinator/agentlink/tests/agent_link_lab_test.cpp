// Against a real agent in a lab's guest: skipped unless RDMOVE_LAB_URI and RDMOVE_LAB_VM_UUID are set.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdlib>

#include "coordinator/agentlink/libvirt_agent_link.hpp"
#include "coordinator/hypervisor/libvirt_hypervisor.hpp"
#include "coordinator/hypervisor/tests/recording_listener.hpp"

namespace rdmove {
namespace {

TEST(AgentLab, answers_status_and_holdouts_also_when_the_link_is_made_anew) {
  const char* uri = std::getenv("RDMOVE_LAB_URI");
  const char* uuid = std::getenv("RDMOVE_LAB_VM_UUID");
  if (uri == nullptr || uuid == nullptr)
    GTEST_SKIP() << "RDMOVE_LAB_URI or RDMOVE_LAB_VM_UUID is not set: no lab";
  LibvirtEventLoop events;
  RecordingListener listener;
  auto hypervisor = makeLibvirtHypervisor(uri, events, listener);
  ASSERT_TRUE(hypervisor) << hypervisor.error().sentence();
  boost::asio::io_context loop;
  boost::asio::thread_pool workers(2);
  const auto links = makeAgentLinks(**hypervisor, loop, workers);
  for (int round = 0; round < 10; ++round) {
    const auto start = std::chrono::steady_clock::now();
    auto link = links->open(DomainUuid(uuid));
    int open = 2;
    link->query("status", std::chrono::seconds(10), [&](Result<std::string> answer) {
      EXPECT_TRUE(answer) << answer.error().sentence();
      --open;
    });
    link->holdouts(std::chrono::seconds(10), [&](Result<std::vector<Holdout>> answer) {
      EXPECT_TRUE(answer) << answer.error().sentence();
      --open;
    });
    while (open > 0) {
      loop.restart();
      loop.run_for(std::chrono::milliseconds(1));
    }
    std::printf("round %d: %.1f ms\n", round,
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  workers.join();
}

}  // namespace
}  // namespace rdmove
