#include "guestagent/failover/channel/tests/simulation.hpp"

#include <cstring>

namespace rdmove::failover::channel::test {
namespace {

SessionOptions options(const Limits& limits) {
  SessionOptions options;
  options.message_limit = options.send_limit = 24;
  options.send_slots = limits.send_slots;
  options.receive_slots = limits.receive_slots;
  options.send_depth = limits.send_depth;
  return options;
}

std::uint64_t mixed(std::uint64_t number) {
  return (number + 7) * 0x9e3779b97f4a7c15ULL;
}

}  // namespace

Side::Side(World& world, const Limits& limits, int index)
    : world_(world), index_(index), limits_(limits), session_(options(limits), *this, *this, *this) {
  const auto address = [](auto& at) { return reinterpret_cast<std::uint64_t>(at.data()); };
  (void)session_.add_region("shown", address(shown_), sizeof shown_,
                            limits.shows_region ? RegionAccess::RemoteReadWrite : RegionAccess::Local);
  (void)session_.add_region("own", address(written_), sizeof written_, RegionAccess::Local);
  (void)session_.add_region("in", reinterpret_cast<std::uint64_t>(&read_into_), 8, RegionAccess::Local);
}

bool Side::post_send(std::span<const std::byte> frame, Token token) {
  world_.check(queue_ == Queue::Up, "nothing is posted on a queue pair that is not up");
  posted_.push_back({Work::Kind::Send, frame, {}, token});
  world_.check(posted_.size() + executed_.size() <= limits_.send_depth, "the send queue does not overflow");
  return true;
}

bool Side::post_receive(ReceiveSlot slot) {
  world_.check(queue_ != Queue::Down, "no receive is posted without a queue pair");
  for (const ReceiveSlot other : receives_) world_.check(other != slot, "a receive slot is posted once");
  receives_.push_back(slot);
  world_.check(receives_.size() <= limits_.receive_slots, "the receive queue does not overflow");
  return true;
}

bool Side::post_write(const OneSidedWork& work, Token token) {
  posted_.push_back({Work::Kind::Write, {}, work, token});
  world_.check(posted_.size() + executed_.size() <= limits_.send_depth, "the send queue does not overflow");
  return true;
}

bool Side::post_read(const OneSidedWork& work, Token token) {
  posted_.push_back({Work::Kind::Read, {}, work, token});
  return true;
}

std::uint32_t Side::remote_key(RegionPlace place) const {
  return generation_ * 1000 + static_cast<std::uint32_t>(place);
}

void Side::break_link(const std::string& why) {
  broken_rules_.push_back(why);
  take_down();
}

Clock::time_point Side::now() {
  return world_.now_;
}

void Side::quiesce() {
  if (queue_ != Queue::Up) return;
  is_quiesced_ = true;
  session_.quiesce();
}

void Side::take_down() {
  if (queue_ == Queue::Down) return;
  is_quiesced_ = false;
  queue_ = Queue::Down;
  posted_.clear();
  executed_.clear();
  receives_.clear();
  completions_.clear();
  session_.link_down();
}

// A message: number, mixed number, how many writes were asked for before it; cut to a length that the number
// decides.
void Side::send() {
  std::array<std::uint64_t, 3> words{accepted_ + 1, mixed(accepted_ + 1), writes_};
  const auto bytes = std::as_bytes(std::span(words));
  const auto number = session_.send(bytes);
  if (!number) {
    world_.check(number.error().code == ErrorCode::WouldBlock || is_finishing_,
                 "send() only ever has no room");
    return;
  }
  world_.check(*number == accepted_ + 1, "numbers are given one after the other");
  ++accepted_;
  writes_before_.push_back(writes_);
}

void Side::received(std::span<const std::byte> message) {
  std::array<std::uint64_t, 3> words{};
  world_.check(message.size() == sizeof words, "a message has its length");
  if (message.size() == sizeof words) std::memcpy(words.data(), message.data(), sizeof words);
  world_.check(words[0] == delivered_ + 1, "messages come once and in order");
  world_.check(words[1] == mixed(words[0]), "messages have their content");
  world_.check(shown_[0] >= words[2], "a write is done before a later message is delivered");
  const Mischief mischief = std::exchange(next_mischief_, Mischief::None);
  switch (mischief) {
    case Mischief::None:
      break;
    case Mischief::Echo:
      send();
      break;
    case Mischief::Pause:
      session_.pause();
      break;
    case Mischief::BreakOwn:
      take_down();
      break;
    case Mischief::BreakBoth:
      world_.take_down(0), world_.take_down(1);
      break;
    case Mischief::Reconnect:
      // An application that runs the loop inside a callback: the next link is up before this message is
      // delivered.
      world_.take_down(0), world_.take_down(1);
      world_.connect(0), world_.connect(0), world_.connect(1);
      break;
    case Mischief::Finish:
      is_finishing_ = true, (void)session_.finish();
      break;
    case Mischief::Region:
      toggle_region();
      break;
  }
  world_.check(std::memcmp(words.data(), message.data(), sizeof words) == 0,
               "a message stays during the callback");
  ++delivered_;
}

void Side::acknowledged(std::uint64_t number) {
  world_.check(number > reported_ && number <= accepted_, "acknowledgements grow");
  world_.check(number <= world_[1 - index_].delivered_, "acknowledged means that the callback has returned");
  reported_ = number;
}

void Side::write() {
  if (!world_[1 - index_].limits_.shows_region) return;
  const std::uint64_t value = writes_ + 1;
  const std::size_t place = value % written_.size();
  if (value - writes_done_ - failed_one_sided_ >= written_.size()) return;
  written_[place] = value;
  const auto asked = session_.one_sided(OperationKind::Write, {"own", place * 8, 8}, "shown", 0,
                                        [this](const Result<void>& result) {
                                          if (!result) ++failed_one_sided_;
                                          if (result) ++writes_done_;
                                        });
  if (asked) ++writes_;
}

void Side::read() {
  if (!world_[1 - index_].limits_.shows_region) return;
  const auto asked =
      session_.one_sided(OperationKind::Read, {"in", 0, 8}, "shown", 8, [this](const Result<void>& result) {
        ++reads_done_;
        world_.check(!result || read_into_ != 0 || world_[1 - index_].shown_[1] == 0, "a read brings data");
      });
  if (asked) ++reads_;
}

// "shown" itself always stays: others come and go beside it.
void Side::toggle_region() {
  has_region_ = !has_region_;
  if (has_region_) {
    (void)session_.remove_region("more");
  } else if (session_.add_region("more", reinterpret_cast<std::uint64_t>(&read_into_), 8,
                                 RegionAccess::RemoteRead)) {
    session_.tell_regions();
  }
}

World::World(const Limits& a, const Limits& b) {
  sides_.emplace_back(*this, a, 0);
  sides_.emplace_back(*this, b, 1);
  sides_[0].shown_[1] = sides_[1].shown_[1] = 42;
}

void World::check(bool holds, const char* rule) {
  if (!holds && failure_.empty()) failure_ = rule;
}

void World::execute(int side) {
  Side& from = (*this)[side];
  Side& to = (*this)[1 - side];
  // To a queue pair of another generation, or one that is down, it never gets.
  if (from.posted_.empty() || to.queue_ == Side::Queue::Down || to.generation_ != from.generation_) return;
  const Side::Work work = from.posted_.front();
  from.posted_.pop_front();
  if (work.kind == Side::Work::Kind::Send) {
    check(!to.receives_.empty(), "there is always a receive for a frame");
    if (to.receives_.empty()) return;
    const ReceiveSlot slot = to.receives_.front();
    to.receives_.pop_front();
    const auto memory = to.session_.slab().receive_slot(slot);
    check(work.frame.size() <= memory.size(), "a frame fits its receive");
    std::memcpy(memory.data(), work.frame.data(), work.frame.size());
    to.completions_.push_back({true, slot, work.frame.size(), {}});
  } else {
    check(work.one_sided.remote_key / 1000 == to.generation_, "keys are of this link");
    auto* remote = reinterpret_cast<std::uint64_t*>(work.one_sided.remote_address);
    if (work.kind == Side::Work::Kind::Write) {
      const std::uint64_t value = from.written_[work.one_sided.local_offset / 8];
      const std::uint64_t settled = to.delivered_ == 0 ? 0 : from.writes_before_[to.delivered_ - 1];
      check(value > settled, "a write before a delivered message is not done again");
      *remote = value;
    } else {
      from.read_into_ = *remote;
    }
  }
  from.executed_.push_back(work.token);
}

void World::acknowledge(int side) {
  Side& from = (*this)[side];
  if (from.executed_.empty()) return;
  from.completions_.push_back({false, {}, 0, from.executed_.front()});
  from.executed_.pop_front();
}

void World::poll(int side) {
  Side& at = (*this)[side];
  if (at.completions_.empty()) return;
  // Completions are handed over when the connection is up. Those of a link that begins with a hello may come
  // before.
  if (at.heard_ && at.queue_ == Side::Queue::Opened) return;
  const Side::Completion completion = at.completions_.front();
  at.completions_.pop_front();
  if (completion.is_receive) {
    at.session_.received(completion.slot, completion.length);
  } else {
    at.session_.sent(completion.token);
  }
}

void World::connect(int side) {
  Side& at = (*this)[side];
  Side& other = (*this)[1 - side];
  if (at.queue_ == Side::Queue::Opened) {
    at.queue_ = Side::Queue::Up;
    at.session_.link_up(at.heard_);
  } else if (at.queue_ == Side::Queue::Down && other.queue_ == Side::Queue::Down) {
    for (Side& both : sides_) {
      both.queue_ = Side::Queue::Opened;
      ++both.generation_;
      both.session_.opened();
    }
    greet(at, other);
  } else if (at.queue_ == Side::Queue::Down) {
    other.take_down();  // it learns that the link is gone
  }
}

// As the bytes that they are.
void World::greet(Side& caller, Side& callee) {
  caller.heard_ = callee.heard_ = std::nullopt;
  const auto call = caller.limits_.greets_in_calls ? caller.session_.greeting() : std::nullopt;
  const auto answer = call && callee.limits_.greets_in_calls ? callee.session_.greeting() : std::nullopt;
  if (!answer) return;
  callee.heard_ = read_greeting(write_greeting(*call));
  caller.heard_ = read_greeting(write_greeting(*answer));
  ++greeted_;
}

void World::pass(Clock::duration time) {
  now_ += time;
  for (Side& side : sides_) {
    if (side.wake_ && now_ >= *side.wake_) {
      side.wake_.reset();
      side.session_.timer();
    }
  }
}

bool World::settle() {
  int quiet = 0;
  for (int round = 0; round < 400 && quiet < 4; ++round) {
    bool moved = false;
    for (int side = 0; side < 2; ++side) {
      Side& at = (*this)[side];
      at.next_mischief_ = Mischief::None;
      at.session_.unpause();
      if (at.is_quiesced_) at.take_down();
      while (at.queue_ != Side::Queue::Up || (*this)[1 - side].queue_ == Side::Queue::Down) {
        if (at.queue_ == Side::Queue::Up) at.take_down();
        connect(side);
        moved = true;
      }
      for (int i = 0; i < 32; ++i) {
        moved = moved || !at.posted_.empty() || !at.executed_.empty() || !at.completions_.empty();
        execute(side), acknowledge(side), poll(side);
      }
    }
    pass(std::chrono::milliseconds(3));
    quiet = moved ? 0 : quiet + 1;
  }
  return quiet >= 4;
}

}  // namespace rdmove::failover::channel::test
