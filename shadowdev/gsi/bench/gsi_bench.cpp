// MADs a second through a shared port, with 1 function and with 200. A MAD counts once for each way through
// the port: a question and its answer are two. The wire and the administrator are memory.
#include <benchmark/benchmark.h>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi {
namespace {

class SteadyTime final : public Timekeeper {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

struct Bench {
  explicit Bench(std::int64_t count, CmStrategy strategy = CmStrategy::ByCommId)
      : port(options(strategy), time) {
    for (unsigned i = 1; i <= count; ++i) {
      functions.push_back(test::function(i));
      if (!port.add_function(functions.back(), {test::gid_of(functions.back())})) std::abort();
    }
  }
  static PortOptions options(CmStrategy strategy) {
    PortOptions all = test::options();
    all.cm = strategy;
    return all;
  }
  FunctionId next() { return functions[turn++ % functions.size()]; }

  SteadyTime time;
  SharedPort port;
  std::vector<FunctionId> functions;
  std::size_t turn = 0;
};

void expect(bool good) {
  if (!good) std::abort();
}

/// A function asks, the administrator answers, the function gets it; one after the other.
void oneQueryAtATime(benchmark::State& state) {
  Bench bench(state.range(0));
  Datagram query = test::path_query(test::tid(1));
  std::uint64_t id = 0;
  for (auto _ : state) {
    query.mad.set_transaction(test::tid(++id));
    expect(bench.port.from_function(bench.next(), query) == Verdict::ToWire);
    Datagram answer = *bench.port.to_wire();
    answer.mad.set_method(Method::GetResp);
    expect(bench.port.from_wire(answer) == Verdict::ToFunction);
    benchmark::DoNotOptimize(bench.port.to_functions());
  }
  state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(oneQueryAtATime)->Arg(1)->Arg(200);

/// All functions have 32 questions out before the first answer comes.
void manyQueriesOutstanding(benchmark::State& state) {
  constexpr unsigned kEach = 32;
  Bench bench(state.range(0));
  Datagram query = test::path_query(test::tid(1));
  std::uint64_t id = 0;
  std::vector<Datagram> sent;
  for (auto _ : state) {
    sent.clear();
    for (unsigned i = 0; i < kEach; ++i) {
      for (const FunctionId function : bench.functions) {
        query.mad.set_transaction(test::tid(++id));
        expect(bench.port.from_function(function, query) == Verdict::ToWire);
      }
    }
    while (auto next = bench.port.to_wire()) {
      next->mad.set_method(Method::GetResp);
      sent.push_back(std::move(*next));
    }
    for (const Datagram& answer : sent) expect(bench.port.from_wire(answer) == Verdict::ToFunction);
    while (auto next = bench.port.to_functions()) benchmark::DoNotOptimize(next);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * kEach * bench.functions.size()));
}
BENCHMARK(manyQueriesOutstanding)->Arg(1)->Arg(200);

/// A message of an established connection, from the wire to its function. 16 connections a function.
void cmMessage(benchmark::State& state, CmStrategy strategy) {
  constexpr unsigned kEach = 16;
  Bench bench(state.range(0), strategy);
  std::vector<Datagram> messages;
  for (const FunctionId function : bench.functions) {
    for (unsigned i = 0; i < kEach; ++i) {
      const Gid own = test::gid_of(function);
      const Datagram request =
          test::with_grh(test::req(CommId{i + 1}, own, test::peer_gid()), own, test::peer_gid());
      expect(bench.port.from_function(function, request) == Verdict::ToWire);
      const Datagram on_wire = *bench.port.to_wire();
      messages.push_back(test::with_grh(
          test::cm(CmMessageType::Lap, CommId{9000 + static_cast<std::uint32_t>(messages.size())},
                   test::first_comm_id(on_wire)),
          test::peer_gid(), own));
    }
  }
  std::size_t turn = 0;
  for (auto _ : state) {
    expect(bench.port.from_wire(messages[turn++ % messages.size()]) == Verdict::ToFunction);
    benchmark::DoNotOptimize(bench.port.to_functions());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(cmMessage, byGid, CmStrategy::ByGid)->Arg(1)->Arg(200);
BENCHMARK_CAPTURE(cmMessage, byCommId, CmStrategy::ByCommId)->Arg(1)->Arg(200);

/// A join and a leave that the port answers by itself, since another function is in the group.
void joinAndLeaveAnsweredHere(benchmark::State& state) {
  Bench bench(state.range(0));
  const FunctionId other = test::function(254);
  expect(bench.port.add_function(other, {test::gid_of(other)}).has_value());
  bench.port.from_function(other, test::join(other, test::tid(1), test::group(1)));
  bench.port.from_wire(test::granted(*bench.port.to_wire()));
  bench.port.to_functions();
  std::uint64_t id = 0;
  for (auto _ : state) {
    const FunctionId function = bench.next();
    expect(bench.port.from_function(function, test::join(function, test::tid(++id), test::group(1))) ==
           Verdict::AnsweredHere);
    expect(bench.port.from_function(function, test::leave(function, test::tid(++id), test::group(1))) ==
           Verdict::AnsweredHere);
    benchmark::DoNotOptimize(bench.port.to_functions());
    benchmark::DoNotOptimize(bench.port.to_functions());
  }
  state.SetItemsProcessed(state.iterations() * 4);
}
BENCHMARK(joinAndLeaveAnsweredHere)->Arg(1)->Arg(200);

/// A report to all functions; counts the copies.
void reportFannedOut(benchmark::State& state) {
  Bench bench(state.range(0));
  for (const FunctionId function : bench.functions) {
    bench.port.from_function(function, test::inform_request(test::tid(1), test::for_trap(64)));
    if (const auto request = bench.port.to_wire()) bench.port.from_wire(test::accepted(*request));
  }
  while (bench.port.to_functions()) {
  }
  std::uint64_t id = 0;
  for (auto _ : state) {
    ++id;
    bench.port.from_wire(test::report(test::tid(id), test::gid_in_service(Gid::from(test::kPrefix, id))));
    benchmark::DoNotOptimize(bench.port.to_wire());
    while (auto next = bench.port.to_functions()) benchmark::DoNotOptimize(next);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(reportFannedOut)->Arg(1)->Arg(200);

/// What moves with a function that has 64 groups, 8 subscriptions and 256 connections: to bytes and back.
void stateToBytesAndBack(benchmark::State& state) {
  FunctionState full;
  for (unsigned i = 0; i < 64; ++i) {
    McMemberRecord record = test::member(test::function(1), test::group(i), kFullMember);
    HeldRecord held;
    record.write(held.record);
    held.state = kFullMember;
    full.memberships.push_back(held);
  }
  for (std::uint16_t i = 0; i < 8; ++i)
    full.subscriptions.push_back({InformKind::record(test::for_trap(i)), kFullMember});
  for (unsigned i = 0; i < 256; ++i)
    full.connections.push_back(
        {CommId{i}, CommId{i + 1}, CommId{i}, Lid{1}, CmPhase::Established, false, std::nullopt});
  for (auto _ : state) {
    const auto bytes = serialise(full).value();
    benchmark::DoNotOptimize(parse(bytes).value());
  }
}
BENCHMARK(stateToBytesAndBack);

}  // namespace
}  // namespace rdmove::gsi

BENCHMARK_MAIN();
