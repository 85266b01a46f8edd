// What a message costs through a channel, against a loop over verbs that does the same work by hand: copy the
// message into a registered slot, post it, take the completion; at the other end take it from its receive and
// post that again. Both run on in-memory queue pairs in this process, one after the other in each round, so
// that their ratio means something on a machine whose speed does not. One round: kBatch messages one way.
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "guestagent/failover/channel/bench/memory_provider.hpp"
#include "guestagent/failover/channel/verbs_link.hpp"

namespace rdmove::failover::channel::bench {
namespace {

constexpr int kBatch = 1024;
constexpr std::uint16_t kSlots = 64;
constexpr int kPoll = 32;

std::uint64_t sum(std::span<const std::byte> message) {
  return wire::get64(message.data());
}

/// By hand.
class RawLoop {
 public:
  explicit RawLoop(std::size_t size)
      : size_(size), pair_(kSlots * 2), slots_(kSlots * size), receives_(kSlots * size) {
    for (std::uint32_t i = 0; i < kSlots; ++i) post_receive(i);
  }

  void run(std::span<const std::byte> message) {
    int arrived = 0;
    for (int sent = 0; arrived < kBatch;) {
      for (; sent < kBatch && in_flight_ < kSlots && sent - arrived < kSlots; ++sent) send(message);
      std::array<ibv_wc, kPoll> done;
      for (int n = ibv_poll_cq(pair_.completions(1), kPoll, done.data()), i = 0; i < n; ++i, ++arrived) {
        const auto slot = static_cast<std::uint32_t>(done[static_cast<std::size_t>(i)].wr_id);
        total_ += sum({&receives_[slot * size_], done[static_cast<std::size_t>(i)].byte_len});
        post_receive(slot);
      }
      in_flight_ -= static_cast<std::uint32_t>(ibv_poll_cq(pair_.completions(0), kPoll, done.data()));
    }
  }
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  void send(std::span<const std::byte> message) {
    const std::uint32_t slot = next_++ % kSlots;
    std::memcpy(&slots_[slot * size_], message.data(), message.size());
    ibv_sge part{reinterpret_cast<std::uint64_t>(&slots_[slot * size_]), static_cast<std::uint32_t>(size_),
                 0};
    ibv_send_wr request{};
    request.wr_id = slot;
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(pair_.queue_pair(0), &request, &bad) == 0) ++in_flight_;
  }
  void post_receive(std::uint32_t slot) {
    ibv_sge part{reinterpret_cast<std::uint64_t>(&receives_[slot * size_]), static_cast<std::uint32_t>(size_),
                 0};
    ibv_recv_wr request{};
    request.wr_id = slot;
    request.sg_list = &part;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    ibv_post_recv(pair_.queue_pair(1), &request, &bad);
  }

  std::size_t size_;
  MemoryPair pair_;
  std::vector<std::byte> slots_;
  std::vector<std::byte> receives_;
  std::uint32_t next_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint64_t total_ = 0;
};

class NoRegion final : public Region {
 public:
  [[nodiscard]] void* address() const override { return nullptr; }
  [[nodiscard]] std::size_t length() const override { return 0; }
  [[nodiscard]] std::uint32_t local_key() const override { return 0; }
  [[nodiscard]] std::uint32_t remote_key() const override { return 0; }
};

/// One end of a channel.
class End final : public WorkQueue, public Timekeeper, public SessionObserver {
 public:
  End(const SessionOptions& options, MemoryPair& pair, int side)
      : qp_(pair.queue_pair(side)),
        cq_(pair.completions(side)),
        link_(*this),
        session_(options, link_, *this, *this) {
    link_.use_slab(session_.slab(), std::make_unique<NoRegion>());
    link_.opened();
    session_.opened();
  }
  bool post_send(ibv_send_wr& request) override {
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp_, &request, &bad) == 0;
  }
  bool post_receive(ibv_recv_wr& request) override {
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp_, &request, &bad) == 0;
  }
  void restart(const std::string& why) override {
    std::fprintf(stderr, "channel_bench: the link broke: %s\n", why.c_str());
    std::abort();
  }
  Clock::time_point now() override { return Clock::now(); }
  void wake_at(Clock::time_point) override {}
  void ready() override {}
  void received(std::span<const std::byte> message) override { ++arrived, total += sum(message); }
  void acknowledged(std::uint64_t) override {}
  void writable() override {}
  void regions_changed() override {}
  void drained() override {}
  void finished() override {}
  void failed(const std::string& why) override { restart(why); }

  void poll() {
    std::array<ibv_wc, kPoll> done;
    for (int n = ibv_poll_cq(cq_, kPoll, done.data()), i = 0; i < n; ++i) {
      VerbsLink::completed(done[static_cast<std::size_t>(i)], session_);
    }
  }
  Session& session() { return session_; }
  int arrived = 0;
  std::uint64_t total = 0;

 private:
  ibv_qp* qp_;
  ibv_cq* cq_;
  VerbsLink link_;
  Session session_;
};

class ChannelLoop {
 public:
  explicit ChannelLoop(std::size_t size)
      : pair_(kSlots * 4), sender_(options(size), pair_, 0), receiver_(options(size), pair_, 1) {
    sender_.session().link_up();
    receiver_.session().link_up();
    for (int i = 0; i < 4; ++i) sender_.poll(), receiver_.poll();
  }
  void run(std::span<const std::byte> message) {
    receiver_.arrived = 0;
    for (int sent = 0; receiver_.arrived < kBatch;) {
      while (sent < kBatch && sender_.session().stream().has_message_room() &&
             sender_.session().send(message))
        ++sent;
      receiver_.poll();
      sender_.poll();
    }
  }
  [[nodiscard]] std::uint64_t total() const { return receiver_.total; }
  [[nodiscard]] std::uint64_t control_frames() { return receiver_.session().counters().control_frames; }

 private:
  static SessionOptions options(std::size_t size) {
    SessionOptions options;
    options.message_limit = options.send_limit = static_cast<std::uint32_t>(size);
    options.send_slots = options.receive_slots = kSlots;
    options.send_depth = 2 * kSlots + 8;
    return options;
  }
  MemoryPair pair_;
  End sender_;
  End receiver_;
};

/// Instructions of this thread in user space; not every machine lets us count them.
class Instructions {
 public:
  Instructions() {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = PERF_TYPE_HARDWARE;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = what.exclude_hv = 1;
    fd_ = static_cast<int>(::syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  }
  ~Instructions() {
    if (fd_ >= 0) ::close(fd_);
  }
  Instructions(const Instructions&) = delete;
  Instructions& operator=(const Instructions&) = delete;
  [[nodiscard]] bool is_allowed() const { return fd_ >= 0; }
  [[nodiscard]] std::uint64_t now() const {
    std::uint64_t count = 0;
    return fd_ >= 0 && ::read(fd_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  int fd_ = -1;
};

struct Cost {
  double nanoseconds = 0;
  double instructions = 0;
};

template <class Loop>
Cost cost_of(Loop& loop, std::span<const std::byte> message, const Instructions& counter) {
  const auto from = Clock::now();
  const auto counted = counter.now();
  loop.run(message);
  const auto instructions = counter.now() - counted;
  return {std::chrono::duration<double, std::nano>(Clock::now() - from).count() / kBatch,
          static_cast<double>(instructions) / kBatch};
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void side_by_side(benchmark::State& state) {
  const std::vector<std::byte> message(static_cast<std::size_t>(state.range(0)), std::byte{7});
  RawLoop raw(message.size());
  ChannelLoop channel(message.size());
  const Instructions counter;
  std::vector<double> raw_ns, channel_ns, ratio;
  double raw_instructions = 0, channel_instructions = 0;
  for (auto _ : state) {
    const Cost by_hand = cost_of(raw, message, counter);
    const Cost through = cost_of(channel, message, counter);
    raw_ns.push_back(by_hand.nanoseconds);
    channel_ns.push_back(through.nanoseconds);
    ratio.push_back(through.nanoseconds / by_hand.nanoseconds);
    raw_instructions += by_hand.instructions;
    channel_instructions += through.instructions;
    state.SetIterationTime((by_hand.nanoseconds + through.nanoseconds) * kBatch * 1e-9);
  }
  if (raw.total() != channel.total()) state.SkipWithError("the two did not carry the same");
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["raw_ns"] = median(raw_ns);
  state.counters["channel_ns"] = median(channel_ns);
  state.counters["extra_ns"] = median(channel_ns) - median(raw_ns);
  state.counters["ratio"] = median(ratio);
  state.counters["acks_per_1000"] =
      1000.0 * static_cast<double>(channel.control_frames()) / (rounds * kBatch);
  if (counter.is_allowed()) {
    state.counters["raw_instructions"] = raw_instructions / rounds;
    state.counters["channel_instructions"] = channel_instructions / rounds;
  } else {
    state.SetLabel("instructions: not counted, perf_event_open is not allowed here");
  }
}
BENCHMARK(side_by_side)->Arg(64)->Arg(4096)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rdmove::failover::channel::bench

BENCHMARK_MAIN();
