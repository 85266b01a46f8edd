// What goes out, and when: the Hello, then regions, then operations in their order, then what must be told
// without one.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "guestagent/failover/channel/session.hpp"

namespace rdmove::failover::channel {

Header Session::stamp(FrameType type, std::uint32_t length, std::uint64_t number) {
  is_acknowledgement_wanted_ = is_old_at_tick_ = false;
  acknowledged_to_peer_ = delivered_;
  send_credit_.sent();
  ++in_flight_;
  // A queue pair's sends complete in their order.
  if (has_peer_finished_ && before_goodbye_heard_ == 0) before_goodbye_heard_ = in_flight_;
  return {type, kVersion, length, number, delivered_, receive_credit_.advertise()};
}

bool Session::send_control(FrameType type, std::span<const std::byte> payload) {
  const auto free = std::find(control_in_flight_.begin(), control_in_flight_.end(), false);
  if (free == control_in_flight_.end()) return false;
  *free = true;
  const auto slot = static_cast<std::uint32_t>(free - control_in_flight_.begin());
  std::byte* at = slab_.control_slot(slot);
  write_header(at, stamp(type, static_cast<std::uint32_t>(payload.size()), 0));
  std::copy(payload.begin(), payload.end(), at + kHeaderBytes);
  ++counters_.control_frames;
  if (!link_.post_send({at, kHeaderBytes + payload.size()}, Token{kControlTokens + slot})) {
    break_link("a control frame could not be posted");
    return false;
  }
  return true;
}

// Not from inside a delivery: this hello would not count its message, the writes before it would begin to go
// again, and if this link then broke, the next hello would leave them half done over.
void Session::greet() {
  if (!is_up_ || is_hello_sent_ || in_delivery_) return;
  Hello hello;
  hello.message_limit = options_.message_limit;
  hello.receive_slots = options_.receive_slots;
  hello.send_slots = options_.send_slots;
  hello.regions = local_regions_.start();
  std::array<std::byte, kHelloBytes> payload;
  write_hello(payload, hello);
  is_hello_sent_ = send_control(FrameType::Hello, payload);
  advance_stage();
}

void Session::send_all() {
  if (!is_live() || is_quiescing_ || is_drained_) return;
  if (!local_regions_.is_all_told()) send_regions();
  if (stage_ == LinkStage::Ready) send_operations();
  send_control_frames();
}

void Session::send_regions() {
  while (const auto place = local_regions_.next_untold()) {
    if (!is_live() || !send_credit_.for_data() || !has_link_room(kControlRoom)) return;
    if (std::count(control_in_flight_.begin(), control_in_flight_.end(), false) <= kControlRoom) return;
    RegionFrame region = local_regions_.tell(*place);
    if (region.shown) region.key = link_.remote_key(*place);
    std::array<std::byte, kRegionBytes> payload;
    write_region(payload, region);
    if (!send_control(FrameType::Region, payload)) return;
  }
}

void Session::send_operations() {
  // The peer resolves nothing by itself, but may have been told by a message which region to use: that comes
  // first.
  // In a crowd that comes back, what one has waiting would hold up the first answer of all others.
  while (stage_ == LinkStage::Ready && !is_quiescing_ && has_link_room(kControlRoom) &&
         local_regions_.is_all_told() && !waits_for_first()) {
    Operation* operation = stream_.next();
    if (operation == nullptr) return;
    if (!operation->is_frame()) {
      send_one_sided(*operation);
    } else if (send_credit_.for_data()) {
      send_frame(*operation);
    } else {
      return;
    }
  }
}

void Session::send_frame(const Operation& operation) {
  std::byte* at = slab_.send_slot(operation.slot);
  const auto type = operation.kind == OperationKind::Message ? FrameType::Message : FrameType::Finish;
  // Written anew each time: acknowledgement and credit are of now, and of this link.
  write_header(at, stamp(type, operation.length, operation.number));
  const std::size_t bytes = kHeaderBytes + operation.length;
  if (!link_.post_send({at, bytes}, stream_.posted())) break_link("a message could not be posted");
}

void Session::send_one_sided(const Operation& operation) {
  const bool is_write = operation.kind == OperationKind::Write;
  const OneSided& what = stream_.next_one_sided();
  auto work = resolve(peer_regions_, what.remote.text(), what.remote_offset, operation.length, is_write);
  if (!work) {
    if (const OneSidedDone done = stream_.abandon_next()) done(tl::unexpected(work.error()));
    return;
  }
  work->local = what.local;
  work->local_offset = what.local_offset;
  ++in_flight_;
  const Token token = stream_.posted();
  const bool posted = is_write ? link_.post_write(*work, token) : link_.post_read(*work, token);
  if (!posted) break_link("a one-sided operation could not be posted");
}

void Session::send_control_frames() {
  if (!is_live() || !has_link_room(0)) return;
  const bool grant = receive_credit_.is_grant_due() && send_credit_.for_grant();
  const bool acknowledgement = is_acknowledgement_wanted_ && send_credit_.for_acknowledgement();
  if (grant || acknowledgement) send_control(FrameType::Acknowledge, {});
}

}  // namespace rdmove::failover::channel
