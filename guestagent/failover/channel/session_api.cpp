// What the application asks for.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "guestagent/failover/channel/session.hpp"

namespace rdmove::failover::channel {
namespace {

constexpr std::size_t kLargestOneSided = 1U << 30U;  // below what every device takes (2^31)

tl::unexpected<Error> gone() {
  return fail(ErrorCode::Gone, "the channel has ended");
}
tl::unexpected<Error> finishing() {
  return fail(ErrorCode::Gone, "finish() was called: nothing can follow it");
}
tl::unexpected<Error> no_room() {
  return fail(ErrorCode::WouldBlock, "no room: wait for writable()");
}

}  // namespace

Result<std::uint64_t> Session::send(std::span<const std::byte> message) {
  if (has_ended_) return gone();
  if (stream_.has_finish()) return finishing();
  if (message.size() > options_.send_limit) {
    return fail(ErrorCode::TooLarge, fmt::format("a message of {} bytes: this channel's send_limit is {}",
                                                 message.size(), options_.send_limit));
  }
  if (peer_ && message.size() > peer_->message_limit) {
    return fail(ErrorCode::TooLarge, fmt::format("a message of {} bytes: the peer takes {}", message.size(),
                                                 peer_->message_limit));
  }
  if (!peer_ || !stream_.has_message_room()) {
    is_blocked_ = true;
    return no_room();
  }
  const Operation& operation = stream_.add_message(static_cast<std::uint32_t>(message.size()));
  const std::uint64_t number = operation.number;
  if (!message.empty()) {
    std::memcpy(slab_.send_slot(operation.slot) + kHeaderBytes, message.data(), message.size());
  }
  pump();
  return number;
}

Result<void> Session::one_sided(OperationKind kind, const LocalPart& local, std::string_view remote,
                                std::size_t offset, OneSidedDone done) {
  if (has_ended_) return gone();
  if (stream_.has_finish()) return finishing();
  const auto place = local_regions_.find(local.region);
  if (!place) return fail(ErrorCode::NoSuchRegion, fmt::format("region {} is not registered", local.region));
  const std::uint64_t size = local_regions_[*place].length;
  if (local.offset > size || local.length > size - local.offset) {
    return fail(ErrorCode::OutOfBounds, fmt::format("{} bytes at {} of region {}, which has {}", local.length,
                                                    local.offset, local.region, size));
  }
  if (local.length > kLargestOneSided) {
    return fail(ErrorCode::TooLarge, "one operation moves at most 1 GiB: use several");
  }
  const auto name = RegionName::from(remote);
  if (!name) return fail(ErrorCode::InvalidArgument, "a region's name has 1 to 32 bytes");
  const auto length = static_cast<std::uint32_t>(local.length);
  if (stage_ == LinkStage::Ready) {  // while Down, the peer may show something else when it is back
    const auto work = resolve(peer_regions_, remote, offset, length, kind == OperationKind::Write);
    if (!work) return tl::unexpected(work.error());
  }
  if (!peer_ || !stream_.has_one_sided_room()) {
    is_one_sided_blocked_ = true;
    return no_room();
  }
  stream_.add_one_sided(kind, length, {*place, local.offset, *name, offset, std::move(done)});
  pump();
  return {};
}

void Session::unpause() {
  is_paused_ = false;
  if (has_ended_ || in_delivery_) return;  // whoever delivers goes on
  deliver_held();
  pump();
  after_input();
}

Result<void> Session::finish() {
  if (has_ended_) return gone();
  if (!stream_.has_finish()) stream_.add_finish();
  pump();
  return {};
}

Result<RegionPlace> Session::add_region(std::string_view name, std::uint64_t address, std::uint64_t length,
                                        RegionAccess access) {
  if (has_ended_) return gone();
  return local_regions_.add(name, address, length, access);
}

Result<RegionPlace> Session::remove_region(std::string_view name) {
  const auto place = local_regions_.find(name);
  if (!place) return fail(ErrorCode::NoSuchRegion, fmt::format("region {} is not registered", name));
  if (!has_ended_ && stream_.uses_region(*place)) {
    return fail(ErrorCode::WouldBlock,
                fmt::format("region {}: one-sided operations still use it; wait until they are done", name));
  }
  local_regions_.remove(*place);
  tell_regions();
  return *place;
}

}  // namespace rdmove::failover::channel
