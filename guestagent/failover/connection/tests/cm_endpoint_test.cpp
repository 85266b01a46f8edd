// An endpoint's end against the events that librdmacm takes meanwhile. Its calls are this file's.
#include "guestagent/failover/connection/cm/cm_endpoint.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace {

struct Seen {
  rdma_cm_id* id = nullptr;
  std::promise<void> destroying;
  std::shared_future<void> go_on;
  bool had_queue_pair = true;  // the id, while its queue pair was destroyed
  bool is_destroyed = false;
};
Seen* seen = nullptr;

}  // namespace

extern "C" int ibv_destroy_qp(ibv_qp*) {
  seen->had_queue_pair = seen->id->qp != nullptr;
  seen->destroying.set_value();
  seen->go_on.wait();
  return 0;
}

extern "C" int rdma_destroy_id(rdma_cm_id*) {
  seen->is_destroyed = true;
  return 0;
}

namespace rdmove::failover::conn {
namespace {

ContextRegistry::Calls no_devices() {
  return {[] { return false; }, [] {}, [] { return std::uint64_t{0}; }, [](const ibv_context*) {}};
}

class CmEndpointEnd : public testing::Test {
 protected:
  CmEndpointEnd() {
    id.qp = &queue_pair;
    calls.id = &id;
    calls.go_on = go_on.get_future().share();
    seen = &calls;
  }

  ibv_qp queue_pair{};
  rdma_cm_id id{};
  Seen calls;
  std::promise<void> go_on;
  ContextRegistry contexts{no_devices()};
};

// rdma_get_cm_event() modifies the queue pair of a REJECTED or a CONNECT_RESPONSE (librdmacm/cma.c).
TEST_F(CmEndpointEnd, no_event_finds_a_queue_pair_that_is_being_destroyed) {
  auto endpoint = std::make_unique<CmEndpoint>(&id, contexts);
  auto end = std::async(std::launch::async, [&] { endpoint.reset(); });
  calls.destroying.get_future().wait();
  {
    const auto taking_an_event = contexts.meet_devices();  // does not wait for the kernel's part
    EXPECT_FALSE(calls.had_queue_pair);
  }
  go_on.set_value();
  end.wait();
  EXPECT_TRUE(calls.is_destroyed);
}

TEST_F(CmEndpointEnd, the_queue_pair_stays_while_an_event_is_taken) {
  auto endpoint = std::make_unique<CmEndpoint>(&id, contexts);
  go_on.set_value();
  auto taking_an_event = contexts.meet_devices();
  auto end = std::async(std::launch::async, [&] { endpoint.reset(); });
  const auto destroying = calls.destroying.get_future();
  EXPECT_EQ(destroying.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout) << "without the event";
  EXPECT_EQ(id.qp, &queue_pair);
  taking_an_event.unlock();
  end.wait();
  EXPECT_EQ(id.qp, nullptr);
  EXPECT_TRUE(calls.is_destroyed);
}

}  // namespace
}  // namespace rdmove::failover::conn
