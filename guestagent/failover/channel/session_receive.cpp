// What came in. Every number in a frame is checked against what this side knows before it is used.
#include <fmt/format.h>

#include <algorithm>

#include "guestagent/failover/channel/session.hpp"

namespace rdmove::failover::channel {

void Session::received(ReceiveSlot slot, std::size_t length) {
  if (has_ended_ || stage_ == LinkStage::Down || stage_ == LinkStage::Broken) return;
  receive_credit_.arrived();
  const auto memory = slab_.receive_slot(slot);
  const std::span<const std::byte> frame = memory.first(std::min(length, memory.size()));
  const auto header = read_header(frame);
  if (!header) return violation(fmt::format("a frame of {} bytes that are not what its header says", length));
  if (header->version != kVersion) {
    return observer_.failed(
        fmt::format("the peer's channel speaks version {}, this one {}", header->version, kVersion));
  }
  const auto payload = frame.subspan(kHeaderBytes);
  if (is_greeted_) {
    take(slot, *header, payload);
  } else {
    take_hello(slot, *header, payload);
  }
  pump();
  after_input();
}

void Session::take_hello(ReceiveSlot slot, const Header& header, std::span<const std::byte> payload) {
  if (header.type != FrameType::Hello) return violation("its first frame is not a hello");
  const auto hello = read_hello(payload);
  if (!hello) return violation("a hello with values that are not allowed");
  if (peer_) {
    Hello as_before = *hello;
    as_before.regions = peer_->regions;
    if (as_before != *peer_) return violation("its hello is not the one it began with");
  }
  if (!meet({hello->regions, header.credit, header.acknowledged}, hello->receive_slots)) return;
  peer_ = hello;
  acknowledge_at_once_ = std::max(1, std::min(hello->send_slots, options_.receive_slots) / 2);
  repost(slot);
  settle_writes();
  advance_stage();
}

/// The peer has said where it is, by a hello or in its call. False: it cannot be there.
bool Session::meet(const Greeting& peer, std::uint16_t slots) {
  const auto refuse = [this](const std::string& why) {
    violation(why);
    return false;
  };
  if (peer.regions > kRegions) return refuse("more regions than there are places");
  if (!send_credit_.granted(peer.credit, slots)) return refuse("its hello's credit");
  if (!stream_.acknowledge(peer.delivered)) {
    return refuse(fmt::format("it says that it has delivered {}, of {} sent and {} known to be delivered",
                              peer.delivered, stream_.posted_messages(), stream_.acknowledged()));
  }
  is_greeted_ = true;
  acknowledged_by_hello_ = stream_.acknowledged();
  peer_regions_.start(peer.regions);
  return true;
}

void Session::settle_writes() {
  for (auto& done : stream_.settle_writes()) {
    if (done) done({});
  }
}

void Session::take(ReceiveSlot slot, const Header& header, std::span<const std::byte> payload) {
  if (!is_live()) return violation("a frame before our hello");
  if (!stream_.acknowledge(header.acknowledged)) {
    return violation(fmt::format("it acknowledges {}, of {} sent and {} acknowledged", header.acknowledged,
                                 stream_.posted_messages(), stream_.acknowledged()));
  }
  if (!send_credit_.granted(header.credit, peer_->receive_slots)) {
    return violation(fmt::format("a credit of {}", header.credit));
  }
  switch (header.type) {
    case FrameType::Message:
      if (header.length > options_.message_limit) {
        return violation(
            fmt::format("a message of {} bytes, the limit is {}", header.length, options_.message_limit));
      }
      return take_numbered({slot, header.length, false}, header.number);
    case FrameType::Finish:
      if (header.length != 0) return violation("a goodbye with a payload");
      return take_numbered({slot, 0, true}, header.number);
    case FrameType::Acknowledge:
      if (header.length != 0) return violation("an acknowledgement with a payload");
      return repost(slot);
    case FrameType::Region: {
      const auto region = read_region(payload);
      if (!region) return violation("a region with values that are not allowed");
      if (!peer_regions_.take(*region)) return violation("more regions than its hello said");
      repost(slot);
      if (stage_ == LinkStage::Ready) return observer_.regions_changed();
      return advance_stage();
    }
    case FrameType::Hello:
      return violation("a second hello");
  }
  violation(fmt::format("a frame of type {}", static_cast<int>(header.type)));
}

void Session::take_numbered(const Arrival& arrival, std::uint64_t number) {
  if (stage_ != LinkStage::Ready) return violation("a message before its regions");
  const std::uint64_t expected = delivered_ + (held_tail_ - held_head_) + 1;
  if (number < expected && number != 0) {
    ++counters_.duplicates;
    repost(arrival.slot);
    // Its sender does not know yet, or it would not have sent it again.
    return note_unacknowledged();
  }
  if (number != expected) return violation(fmt::format("message {} where {} is due", number, expected));
  if (has_peer_finished_) return violation("a message after its goodbye");
  if (!is_paused_ && !in_delivery_ && held_head_ == held_tail_) return deliver(arrival);
  held_at(held_tail_++) = arrival;
  deliver_held();
}

void Session::deliver_held() {
  while (!is_paused_ && !in_delivery_ && !has_ended_ && held_head_ != held_tail_) {
    const Arrival arrival = held_at(held_head_++);
    deliver(arrival);
  }
}

void Session::deliver(const Arrival& arrival) {
  in_delivery_ = arrival.slot;
  if (arrival.is_finish) {
    has_peer_finished_ = true;
    is_acknowledgement_wanted_ = true;  // it waits for this to close
  } else {
    observer_.received(slab_.receive_slot(arrival.slot).subspan(kHeaderBytes, arrival.length));
  }
  // Only now: had this process died in the callback, the message would not have been delivered.
  ++delivered_;
  in_delivery_.reset();
  if (has_ended_) return;
  repost(arrival.slot);
  note_unacknowledged();
  greet();  // if a link came up meanwhile
}

void Session::repost(ReceiveSlot slot) {
  if (stage_ == LinkStage::Down || stage_ == LinkStage::Broken) return;
  receive_credit_.posted();
  if (!link_.post_receive(slot)) break_link("a receive could not be posted");
}

void Session::advance_stage() {
  if (stage_ == LinkStage::Opened && is_hello_sent_ && is_greeted_) stage_ = LinkStage::Exchanging;
  if (stage_ != LinkStage::Exchanging || !peer_regions_.is_complete()) return;
  stage_ = LinkStage::Ready;
  greeting_deadline_.reset();
  observer_.ready();
  pump();
}

}  // namespace rdmove::failover::channel
