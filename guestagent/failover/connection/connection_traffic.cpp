#include <array>
#include <utility>

#include "guestagent/failover/connection/connection_core.hpp"
#include "guestagent/failover/connection/region_core.hpp"

namespace rdmove::failover {
namespace {

constexpr std::uint64_t keepalive_id = std::uint64_t{1} << 63;
constexpr std::size_t batch = 32;
constexpr int batches_at_once = 16;  // then others have their turn

template <class Request>
Result<std::uint32_t> count(const Request* first) {
  std::uint32_t number = 0;
  for (; first; first = first->next, ++number)
    if (first->wr_id >= keepalive_id) return fail(ErrorCode::InvalidArgument, "wr_id must be below 2^63");
  return number;
}

}  // namespace

ibv_pd* ConnectionCore::protection_domain() const {
  return device_ ? device_->protection_domain() : nullptr;
}

Result<void> ConnectionCore::post_send(ibv_send_wr& first) {
  if (stage_ != Stage::Established) return fail(ErrorCode::NotUp, "a send, while there is no connection");
  const auto number = count(&first);
  if (!number) return tl::unexpected(number.error());
  // The slot above send_depth is the keepalive's.
  if (sends_posted_ + *number > options_.queues.send_depth)
    return fail(ErrorCode::WouldBlock, "the send queue is full: wait for completions");
  auto posted = endpoint_->post_send(first);
  if (posted) sends_posted_ += *number;
  return posted;
}

Result<void> ConnectionCore::post_receive(ibv_recv_wr& first) {
  if (!endpoint_ || !endpoint_->queue_pair())
    return fail(ErrorCode::NotUp, "a receive, while there is no queue pair");
  const auto number = count(&first);
  if (!number) return tl::unexpected(number.error());
  // Each makes a completion, and completion queues are shared: more would take the room of others.
  if (receives_posted_ + *number > options_.queues.receive_depth)
    return fail(ErrorCode::WouldBlock, "the receive queue is full: wait for completions");
  auto posted = endpoint_->post_receive(first);
  if (posted) receives_posted_ += *number;
  return posted;
}

void ConnectionCore::completion_event() {
  if (stage_ != Stage::Established) {
    early_completions_ = true;  // what arrives before ESTABLISHED waits for up()
    return;
  }
  const auto self = shared_from_this();
  hand_over(Handing::All);
}

// Gives the owner what has completed. With OnlyGood the queue pair is about to go: failures say nothing new.
void ConnectionCore::hand_over(Handing handing) {
  if (!endpoint_ || !endpoint_->queue_pair()) return;
  const auto number = endpoint_->number();
  const auto is_same = [&] { return endpoint_ && endpoint_->number() == number; };
  std::array<ibv_wc, batch> completions;
  bool any = false;
  bool broken = false;
  int left = batches_at_once;
  handing_over_ = true;
  for (int size = batch; size == batch && !broken && (handing == Handing::OnlyGood || left-- > 0);) {
    size = endpoint_->poll(completions);
    for (int i = 0; i < size && !broken; ++i) {
      const ibv_wc& done = completions.at(static_cast<std::size_t>(i));
      if (done.status != IBV_WC_SUCCESS) {
        broken = handing == Handing::All;
        continue;
      }
      if (done.wr_id == keepalive_id) {
        keepalive_posted_ = false;
        continue;
      }
      auto& posted = (done.opcode & IBV_WC_RECV) == 0 ? sends_posted_ : receives_posted_;
      if (posted > 0) --posted;
      any = true;
      handler_->completed(*handle_, done);
      if (!is_same()) return void(handing_over_ = false);
    }
  }
  last_completion_ = hub_->now();
  if (any) handler_->batch_done(*handle_);
  handing_over_ = false;
  if (!is_same()) return;
  if (handing == Handing::OnlyGood) return;
  if (const auto loss = std::exchange(loss_after_handing_, std::nullopt)) return lose(*loss);
  if (broken) return lose(DownReason::Broken);
  if (left <= 0) {  // more may be there, and make no event
    keepalive_timer_.set(hub_->now(), [this] {
      keep_alive();
      completion_event();
    });
  }
}

// An idle queue pair never notices that its peer is gone: only its own sends do. A zero-length RDMA WRITE
// needs no memory and no valid key (IBA C9-88), and the peer's application sees nothing of it.
void ConnectionCore::keep_alive() {
  if (options_.keepalive.count() == 0 || stage_ != Stage::Established) return;
  const auto now = hub_->now();
  if (now - last_completion_ >= options_.keepalive && !keepalive_posted_) {
    ibv_send_wr request{};
    request.wr_id = keepalive_id;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    keepalive_posted_ = endpoint_->post_send(request).has_value();
  }
  const auto next = std::max(last_completion_ + options_.keepalive, now + options_.keepalive / 2);
  keepalive_timer_.set(next, [this] { keep_alive(); });
}

Result<std::unique_ptr<Region>> ConnectionCore::register_memory(void* address, std::size_t length,
                                                                int access) {
  if (state_ == ConnectionState::Gone) return fail(ErrorCode::Gone, "the connection has ended");
  if (!address || length == 0)
    return fail(ErrorCode::InvalidArgument, "a region has an address and a length");
  return enlist(std::make_unique<RegionCore>(weak_from_this(), address, length, access));
}

Result<std::unique_ptr<Region>> ConnectionCore::use_memory(std::shared_ptr<conn::MemoryPiece> piece) {
  if (state_ == ConnectionState::Gone) return fail(ErrorCode::Gone, "the connection has ended");
  return enlist(std::make_unique<RegionCore>(weak_from_this(), std::move(piece)));
}

Result<std::unique_ptr<Region>> ConnectionCore::enlist(std::unique_ptr<RegionCore> region) {
  if (endpoint_ && endpoint_->queue_pair()) {
    if (auto registered = region->register_on(*endpoint_); !registered)
      return tl::unexpected(registered.error());
  }
  regions_.push_back(region.get());
  return region;
}

void ConnectionCore::forget(RegionCore& region) {
  std::erase(regions_, &region);
  if (endpoint_) region.deregister_on(*endpoint_);
}

}  // namespace rdmove::failover
