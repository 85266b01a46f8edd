// What guests of the world get, and what must be true of it.
#include "shadowdev/gsi/tests/world.hpp"

namespace rdmove::gsi::test {

void World::fetch() {
  // Events first: in one call, a port may tell of a loss and then answer what waited behind it.
  for (Host& host : hosts_) {
    while (const auto event = host.port->next_event()) {
      for (Soul& guest : souls_) {
        if (guest.function != event->function || &hosts_[guest.port] != &host) continue;
        if (event->change != RecordChange::Lost) {
          fail("no group has changed");
        } else if (event->is_membership) {
          const auto record = McMemberRecord::read(event->record);
          guest.held[record.group] = record.join_state;
          if (record.join_state.empty()) guest.held.erase(record.group);
        } else {
          guest.traps.erase(InformKind::info(event->record).trap_or_device);
        }
      }
    }
  }
  for (std::size_t i = 0; i < kSouls; ++i) {
    while (const auto datagram = port_of(i).to_function(at(i).function)) fetched(i, *datagram);
  }
  for (Host& host : hosts_) check(!host.port->to_functions(), "nothing is for a function that is not there");
}

void World::fetched(std::size_t soul, const Datagram& datagram) {
  if (datagram.mad.management_class() == ManagementClass::CommunicationManagement)
    return fetched_cm(soul, datagram.mad);
  if (datagram.mad.method() != Method::Report) return fetched_answer(soul, datagram.mad);
  bool is_wanted = false;
  for (const std::uint16_t trap : at(soul).traps)
    is_wanted = is_wanted || matches(wish_for(trap), notice(datagram.mad));
  check(is_wanted, "a report is for one who subscribed");
  ++totals_.reports;
}

void World::fetched_answer(std::size_t soul, const Mad& mad) {
  Soul& guest = at(soul);
  if (mad.attribute() == attribute::kPathRecord) {
    const std::uint64_t id = number(mad.transaction()) & 0xFFFFFFFFFFFF;
    check(number(mad.transaction()) >> 48U == 0xABCD, "the whole number comes back");
    const auto asked = guest.queries.find(id);
    if (asked == guest.queries.end()) return fail("an answer to nothing that this guest asks");
    check((get_bytes<64, 16>(mad.bytes())) == Gid::from(0x1234, asked->second).bytes(),
          "the answer to this question");
    guest.queries.erase(asked);
    ++totals_.answers;
    return;
  }
  const std::uint64_t id = number(mad.transaction());
  if (mad.attribute() == attribute::kMcMemberRecord) {
    const auto wish = guest.wishes.find(id);
    if (wish == guest.wishes.end()) return fail("an answer to no wish of this guest");
    check(member_record(mad).port == soul_gid(soul), "a guest sees itself as the member");
    check(member_record(mad).group == wish->second.group, "the group that was asked for");
    if (mad.status() == 0) {
      JoinState& held = guest.held[wish->second.group];
      held = wish->second.is_join ? held | wish->second.state : held - wish->second.state;
      check(member_record(mad).join_state == held, "the answer says what is held");
      if (held.empty()) guest.held.erase(wish->second.group);
    }
    guest.wishes.erase(wish);
  } else {
    const auto wish = guest.informs.find(id);
    if (wish == guest.informs.end()) return fail("an answer to no subscription of this guest");
    if (mad.status() == 0 && wish->second.second) guest.traps.insert(wish->second.first);
    if (mad.status() == 0 && !wish->second.second) guest.traps.erase(wish->second.first);
    guest.informs.erase(wish);
  }
}

void World::fetched_cm(std::size_t soul, const Mad& mad) {
  check((mad.field<kSoulTag, std::uint32_t>()) == soul, "a CM message for another");
  check((mad.field<28, std::uint32_t>()) == mad.field<kLocalTag, std::uint32_t>(),
        "the guest's own comm_id comes back");
  ++totals_.cm;
}

void World::check_limits() {
  for (std::size_t i = 0; i < kSouls; ++i) {
    check(port_of(i).outstanding(at(i).function) <= 6, "requests are bounded");
    check(at(i).held.size() <= 4, "memberships are bounded");
  }
  for (const Host& host : hosts_)
    check(host.port->outstanding(kPortItself) <= 5, "the port's own are bounded");
}

void World::come_to_rest() {
  const auto is_moving = [&] {
    return !hosts_[0].out.empty() || !hosts_[0].in.empty() || !hosts_[1].out.empty() || !hosts_[1].in.empty();
  };
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 1000 && is_moving(); ++i) flow();
    pass(milliseconds{200});
  }
  check_memberships();
  for (std::size_t i = 0; i < kSouls; ++i) {
    check(port_of(i).outstanding(at(i).function) == 0, "no request stays for ever");
  }
}

void World::check_memberships() {
  for (Host& host : hosts_) {
    std::size_t wanted_traps = 0;
    for (unsigned g = 0; g < 3; ++g) {
      JoinState wanted;
      for (const Soul& guest : souls_) {
        const auto held = guest.held.find(group(g));
        if (&hosts_[guest.port] == &host && held != guest.held.end()) wanted = wanted | held->second;
      }
      check(host.port->membership(group(g)) == wanted, "the port is in what its functions are in");
      const JoinState there = members_[{group(g), host.gid}];
      check(there.covers(wanted), "and the administrator knows it");
      if (is_lossless_) check(there == wanted, "and knows of nothing more");
    }
    std::set<std::uint16_t> traps;
    for (const Soul& guest : souls_) {
      if (&hosts_[guest.port] == &host) traps.insert(guest.traps.begin(), guest.traps.end());
    }
    wanted_traps = traps.size();
    check(host.port->subscriptions() == wanted_traps, "the port has its functions' subscriptions");
    const std::size_t there = subscriptions_[host.gid].size();
    check(there >= wanted_traps, "and the administrator knows them");
    if (is_lossless_) check(there == wanted_traps, "and no more");
  }
}

}  // namespace rdmove::gsi::test
