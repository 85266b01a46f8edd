#include "guestagent/failover/channel/channel_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "guestagent/failover/connection/connection_core.hpp"

namespace rdmove::failover {
namespace {

constexpr std::uint64_t kLargestSlab = 1ULL << 30U;
constexpr std::uint32_t kDeepestQueue =
    1024;  // every device has that much; more than is needed to keep one busy

int to_verbs(RegionAccess access) {
  switch (access) {
    case RegionAccess::Local:
      return IBV_ACCESS_LOCAL_WRITE;
    case RegionAccess::RemoteRead:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    case RegionAccess::RemoteWrite:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    case RegionAccess::RemoteReadWrite:
      break;
  }
  return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

}  // namespace

Result<channel::SessionOptions> ChannelCore::check(const ChannelOptions& options) {
  channel::SessionOptions session;
  session.message_limit = options.message_limit;
  session.send_limit = options.send_limit == 0 ? options.message_limit : options.send_limit;
  session.send_slots = options.send_slots;
  session.receive_slots = options.receive_slots;
  session.send_depth = std::min(options.send_slots + 8U, kDeepestQueue);
  if (session.message_limit == 0 ||
      std::max(session.message_limit, session.send_limit) > channel::kLargestMessage) {
    return fail(ErrorCode::InvalidArgument, "a channel's limits are 1 to 1048576 bytes a message");
  }
  if (session.send_slots == 0 || session.receive_slots < channel::kFewestReceiveSlots) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("a channel needs at least one send slot and {} receive slots",
                            channel::kFewestReceiveSlots));
  }
  const std::uint64_t slab = std::uint64_t{session.send_slots} * session.send_limit +
                             std::uint64_t{session.receive_slots} * session.message_limit;
  if (slab > kLargestSlab) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the slots would take {} MiB: fewer or smaller ones, up to 1 GiB", slab >> 20U));
  }
  return session;
}

ConnectionOptions ChannelCore::connection_options(const ChannelOptions& options,
                                                  const channel::SessionOptions& session) {
  ConnectionOptions made = options.connection;
  made.queues = {};
  made.queues.send_depth = session.send_depth;
  made.queues.receive_depth = session.receive_slots;
  made.receives_come_first = true;  // the credits see to that
  return made;
}

ChannelCore::ChannelCore(conn::Hub& hub, const channel::SessionOptions& options, ChannelHandler& handler)
    : hub_(hub),
      handler_(handler),
      link_(*this),
      session_(options, link_, *this, *this,
               [&](std::size_t bytes) {
                 memory_ = hub.memory().take(bytes);
                 return std::shared_ptr<std::byte>(memory_, memory_->address());
               }),
      timer_(hub.timers()) {}

std::unique_ptr<Channel> ChannelCore::handle(std::shared_ptr<ChannelCore> core) {
  return std::unique_ptr<Channel>(new Channel(std::move(core)));
}

void ChannelCore::own(std::unique_ptr<Connection> connection) {
  connection_ = std::move(connection);
  active_ = connection_.get();
}

ConnectionState ChannelCore::state() const {
  if (has_ended_) return ConnectionState::Gone;
  if (session_.stage() == channel::LinkStage::Ready) return ConnectionState::Up;
  return session_.peer_limit() == 0 ? ConnectionState::Connecting : ConnectionState::Down;
}

Result<void> ChannelCore::register_memory(Connection& connection) {
  auto region = connection.core_->use_memory(memory_);
  if (!region) return tl::unexpected(region.error());
  link_.use_slab(session_.slab(), std::move(*region));
  is_registered_ = true;
  return {};
}

void ChannelCore::opened(Connection& connection) {
  const auto self = shared_from_this();
  active_ = &connection;
  heard_.reset();
  connection.core_->greet_by(*this);
  if (!is_registered_) {
    if (const auto registered = register_memory(connection); !registered) {
      own_end_ = Gone{GoneReason::Refused, registered.error().message};
      return connection.close();
    }
  }
  link_.opened();
  session_.opened();
}

void ChannelCore::up(Connection&) {
  const auto self = shared_from_this();
  session_.link_up(heard_);
}

// An answer to what is not understood would keep the caller from saying hello.
std::vector<std::byte> ChannelCore::greeting(std::span<const std::byte> heard) {
  static_assert(channel::kGreetingBytes <= conn::application_bytes);
  if (!heard.empty() && !channel::read_greeting(heard)) return {};
  const auto greeting = session_.greeting();
  if (!greeting) return {};
  const auto words = channel::write_greeting(*greeting);
  return {words.begin(), words.end()};
}

void ChannelCore::ready() {
  is_up_ = true;
  handler_.up(*handle_);
}

void ChannelCore::tell_resent() {
  if (const auto resent = session_.stream().resent(); resent != resent_told_ && active_ != nullptr)
    active_->count_resent(resent - std::exchange(resent_told_, resent));
}

void ChannelCore::acknowledged(std::uint64_t number) {
  tell_resent();
  handler_.acknowledged(*handle_, number);
}

void ChannelCore::completed(Connection&, const ibv_wc& completion) {
  const auto self = shared_from_this();
  channel::VerbsLink::completed(completion, session_);
}

void ChannelCore::quiesce(Connection&, std::chrono::steady_clock::time_point) {
  const auto self = shared_from_this();
  session_.quiesce();
}

void ChannelCore::drained() {
  if (is_saying_goodbye_) return close();
  if (active_ != nullptr) active_->quiesced();
}

void ChannelCore::down(Connection&, DownReason reason) {
  const auto self = shared_from_this();
  session_.link_down();
  tell_resent();
  if (std::exchange(is_up_, false) && !has_ended_) handler_.down(*handle_, reason);
  // The goodbye was heard before the link broke: there is nothing left to say.
  if (is_saying_goodbye_ && !has_ended_) return close();
  if (session_.has_peer_left() && !has_ended_) {
    own_end_ = Gone{GoneReason::PeerClosed, "the peer said goodbye"};
    close();
  }
}

// All is delivered. What the peer has sent and we have delivered is acknowledged before the connection
// closes.
void ChannelCore::finished() {
  is_saying_goodbye_ = true;
  own_end_ = Gone{GoneReason::Closed, "finish(): the peer has everything"};
  if (session_.stage() == channel::LinkStage::Ready) return session_.quiesce();
  close();
}

void ChannelCore::failed(const std::string& why) {
  own_end_ = Gone{GoneReason::Incompatible, why};
  if (active_ != nullptr) active_->close();
}

void ChannelCore::finish() {
  const auto self = shared_from_this();
  (void)session_.finish();
}

void ChannelCore::close() {
  const auto self = shared_from_this();
  if (has_ended_) return;
  if (!own_end_) own_end_ = Gone{GoneReason::Closed, "this side closed the channel"};
  tell_resent();
  if (active_ != nullptr) {
    active_->close();
  } else {
    end(*own_end_);
  }
}

void ChannelCore::gone(Connection&, const Gone& why) {
  const auto self = shared_from_this();
  if (own_end_) return end(*own_end_);
  if (session_.has_peer_finished()) return end({GoneReason::PeerClosed, "the peer said goodbye"});
  end(why);
}

void ChannelCore::end(const Gone& why) {
  if (std::exchange(has_ended_, true)) return;
  timer_.cancel();
  is_up_ = false;
  const ChannelEnd told = session_.end(why);
  if (handle_ != nullptr) handler_.gone(*handle_, told);
}

// The loop may have ended before its channels: then there is no hub any more, and nothing to be in time for.
channel::Clock::time_point ChannelCore::now() {
  if (active_ != nullptr && active_->state() == ConnectionState::Gone) return channel::Clock::now();
  return hub_.now();
}

void ChannelCore::wake_at(channel::Clock::time_point when) {
  timer_.set(when, [this] {
    const auto self = shared_from_this();
    session_.timer();
  });
}

void ChannelCore::restart(const std::string&) {
  if (active_ != nullptr) active_->restart();
}

Result<void> ChannelCore::register_region(std::string_view name, void* address, std::size_t length,
                                          RegionAccess access) {
  if (has_ended_ || active_ == nullptr) return fail(ErrorCode::Gone, "the channel has ended");
  const auto place = session_.add_region(name, reinterpret_cast<std::uint64_t>(address), length, access);
  if (!place) return tl::unexpected(place.error());
  auto region = active_->register_memory(address, length, to_verbs(access));
  if (!region) {
    (void)session_.remove_region(name);
    return tl::unexpected(region.error());
  }
  link_.add_region(*place, std::move(*region));
  const auto self = shared_from_this();
  session_.tell_regions();
  return {};
}

Result<void> ChannelCore::withdraw_region(std::string_view name) {
  const auto self = shared_from_this();
  const auto place = session_.remove_region(name);
  if (!place) return tl::unexpected(place.error());
  link_.remove_region(*place);
  return {};
}

}  // namespace rdmove::failover
