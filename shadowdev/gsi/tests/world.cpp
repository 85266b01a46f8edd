#include "shadowdev/gsi/tests/world.hpp"

namespace rdmove::gsi::test {
namespace {

PortOptions options_of(const Gid& gid, std::uint64_t seed) {
  PortOptions all;
  all.gid = gid;
  all.subnet_manager = kSubnetManager;
  all.seed = seed;
  all.functions.outstanding = 6;
  all.functions.outgoing = 6;
  all.functions.incoming = 32;
  all.multicast = all.subscriptions = {
      .records_per_function = 4, .waiting_per_function = 3, .attempts = 3, .attempt = milliseconds{400}};
  all.connections = {
      .connections_per_function = 8, .setup = milliseconds{4000}, .closing = milliseconds{2000}};
  all.own_outstanding = 5;
  all.transaction_lifetime = milliseconds{3000};
  return all;
}

}  // namespace

World::World(Totals& totals, bool is_lossless) : totals_(totals), is_lossless_(is_lossless) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].gid = Gid::from(kPrefix, 0xA0 + i);
    hosts_[i].lid = Lid{static_cast<std::uint16_t>(20 + i)};
    hosts_[i].port = std::make_unique<SharedPort>(options_of(hosts_[i].gid, 1000 + i), time_);
  }
  for (std::size_t i = 0; i < kSouls; ++i) {
    souls_[i].port = i % 2;
    souls_[i].function = function(static_cast<unsigned>(1 + i));
    check(port_of(i).add_function(souls_[i].function, {soul_gid(i)}).has_value(), "a function is put in");
  }
}

void World::send(std::size_t soul, Datagram datagram) {
  port_of(soul).from_function(at(soul).function, datagram);
  collect(hosts_[at(soul).port]);
  fetch();
}

void World::query(std::size_t soul, std::uint8_t which) {
  // Half of them repeat a number that is under way, as a retry does: with the same content.
  Soul& guest = at(soul);
  std::uint64_t id = guest.next_id;
  std::uint64_t serial = serial_ + 1;
  if (which % 4 == 0 && !guest.queries.empty()) {
    id = guest.queries.begin()->first;
    serial = guest.queries.begin()->second;
  } else {
    ++guest.next_id;
    ++serial_;
  }
  guest.queries[id] = serial;
  // The same upper half for all: it does not come back from user space's MAD layer, nor does the lower say
  // who.
  send(soul, path_query(tid(0xABCD000000000000 | id), Gid::from(0x1234, serial)));
}

void World::join(std::size_t soul, std::uint8_t which) {
  Soul& guest = at(soul);
  const Gid to = group(which % 3U);
  const JoinState state(static_cast<std::uint8_t>(1U << (which / 4U % 4U)));
  McMemberRecord record = test::member(guest.function, to, state);
  record.port = soul_gid(soul);
  const std::uint64_t id = guest.next_id++;
  guest.wishes[id] = {to, state, true};
  ++totals_.joins;
  send(soul, member_request(Method::Set, tid(id), record));
}

void World::leave(std::size_t soul, std::uint8_t which) {
  Soul& guest = at(soul);
  if (guest.held.empty()) return;
  auto held = guest.held.begin();
  std::advance(held, which % guest.held.size());
  McMemberRecord record = test::member(guest.function, held->first, held->second);
  record.port = soul_gid(soul);
  const std::uint64_t id = guest.next_id++;
  guest.wishes[id] = {held->first, held->second, false};
  ++totals_.leaves;
  send(soul, member_request(Method::Delete, tid(id), record));
}

void World::subscribe(std::size_t soul, std::uint8_t which, bool on) {
  Soul& guest = at(soul);
  const std::uint16_t trap = kTraps[which % 3U];
  InformInfo info = wish_for(trap);
  info.is_subscribe = on;
  const std::uint64_t id = guest.next_id++;
  guest.informs[id] = {trap, on};
  send(soul, inform_request(tid(id), info));
}

void World::connect(std::size_t soul, std::uint8_t) {
  Soul& guest = at(soul);
  Datagram request = req(CommId{guest.next_comm}, soul_gid(soul), peer_gid());
  request.mad.set_field<kSoulTag>(static_cast<std::uint32_t>(soul));
  request.mad.set_field<kLocalTag>(guest.next_comm);
  ++guest.next_comm;  // all guests count from 1
  send(soul, request);
}

void World::disconnect(std::size_t soul, std::uint8_t which) {
  std::vector<Connection> own;
  for (const Connection& one : connections_) {
    if (one.soul == soul) own.push_back(one);
  }
  if (own.empty()) return;
  const Connection& one = own[which % own.size()];
  send(soul, cm(CmMessageType::Dreq, CommId{one.local}, one.own));
}

// The peer answers or ends one of its connections. Its messages go where the function lives; now and then to
// where it was.
void World::peer_speaks(std::uint8_t which) {
  if (connections_.empty()) return;
  const Connection& one = connections_[which % connections_.size()];
  constexpr CmMessageType kTypes[] = {CmMessageType::Rep, CmMessageType::Mra, CmMessageType::Dreq,
                                      CmMessageType::Rej, CmMessageType::Rtu};
  Datagram message = cm(kTypes[which % 5U], one.own, one.at_port);
  message.mad.set_field<kSoulTag>(static_cast<std::uint32_t>(one.soul));
  message.mad.set_field<kLocalTag>(one.local);
  const std::size_t here = at(one.soul).port;
  hosts_[which % 7 == 0 ? 1 - here : here].in.push_back(message);
}

// A notice goes once to each subscription of a port that it matches.
void World::report(std::uint8_t which) {
  Notice what = gid_in_service(Gid::from(kPrefix, report_id_));
  what.trap_or_device = kTraps[which % 2U];
  for (Host& host : hosts_) {
    for (const InformInfo::Bytes& one : subscriptions_[host.gid]) {
      if (matches(InformInfo::read(one), what)) host.in.push_back(test::report(tid(++report_id_), what));
    }
  }
  ++report_id_;
}

void World::move(std::size_t soul) {
  Soul& guest = at(soul);
  fetch();
  const auto state = port_of(soul).take_out(guest.function);
  check(state.has_value(), "a function is taken out");
  if (!state) return;
  collect(hosts_[guest.port]);
  // Over bytes, as between hosts.
  const auto bytes = serialise(*state);
  const auto parsed = bytes ? parse(*bytes) : tl::unexpected(bytes.error());
  check(parsed && *parsed == *state, "a state survives its bytes");
  if (!parsed) return;
  std::size_t held = 0;
  for (const HeldRecord& record : state->memberships) {
    const auto member = McMemberRecord::read(record.record);
    ++held;
    check(guest.held.contains(member.group) && guest.held[member.group] == record.state,
          "what moves is what is held");
  }
  check(held == guest.held.size(), "all that is held moves");
  check(state->subscriptions.size() == guest.traps.size(), "all subscriptions move");
  guest.port = 1 - guest.port;
  // The lowest number that is free there, so that it was another's before.
  unsigned free = 1;
  while (port_of(soul).has_function(function(free))) ++free;
  guest.function = function(free);
  check(port_of(soul).put_in(guest.function, {soul_gid(soul)}, *parsed).has_value(), "a function is put in");
  guest.queries.clear();  // they stay behind
  guest.wishes.clear();
  guest.informs.clear();
  collect(hosts_[guest.port]);
  ++totals_.moves;
}

void World::pass(milliseconds time) {
  // Without loss, an answer is not late either.
  if (is_lossless_) {
    for (const Host& host : hosts_) {
      if (!host.out.empty() || !host.in.empty()) return;
    }
  }
  time_.pass(time);
  for (Host& host : hosts_) {
    host.port->tick();
    collect(host);
  }
  fetch();
}

void World::lose(std::uint8_t which) {
  if (is_lossless_) return;
  Host& host = hosts_[which % 2U];
  auto& queue = which % 4U < 2 ? host.out : host.in;
  if (queue.empty()) return;
  queue.pop_front();
  ++totals_.lost;
}

void World::repeat_answer(std::uint8_t which) {
  if (answered_.empty()) return;
  const auto& [host, answer] = answered_[which % answered_.size()];
  hosts_[host].in.push_back(answer);
}

// Another one, with nothing of what the former knew. What was on its way to the former is lost.
void World::administrator_is_replaced() {
  if (is_lossless_) return;
  members_.clear();
  subscriptions_.clear();
  for (Host& host : hosts_) {
    std::erase_if(host.out, [](const Datagram& d) { return d.remote == kSubnetManager; });
    host.port->subnet_manager_changed(kSubnetManager, 0);
    collect(host);
  }
  fetch();
}

void World::flow() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    if (!host.out.empty()) {
      const Datagram datagram = host.out.front();
      host.out.pop_front();
      if (datagram.remote == kSubnetManager) {
        administer(host, datagram);
      } else {
        peer_hears(host, datagram);
      }
    }
    if (!host.in.empty()) {
      const Datagram datagram = host.in.front();
      host.in.pop_front();
      host.port->from_wire(datagram);
      collect(host);
    }
  }
  fetch();
  check_limits();
}

void World::collect(Host& host) {
  while (auto datagram = host.port->to_wire()) host.out.push_back(*datagram);
}

void World::administer(Host& host, const Datagram& request) {
  ++totals_.asked;
  const Mad& mad = request.mad;
  Datagram answer = accepted(request);
  switch (mad.attribute()) {
    case attribute::kMcMemberRecord: {
      McMemberRecord record = member_record(mad);
      check(record.port == host.gid, "the port is the member");
      JoinState& state = members_[{record.group, record.port}];
      if (mad.method() == Method::Set) {
        state = state | record.join_state;
        record.join_state = state;
        record.multicast_lid = 0xC000;
        answer = granted(request, record);
      } else if (!state.covers(record.join_state)) {
        answer = refused(request, SaStatus::RequestInvalid);
        state = state - record.join_state;
      } else {
        state = state - record.join_state;
      }
      break;
    }
    case attribute::kInformInfo: {
      InformInfo info = inform_info(mad);
      const bool on = std::exchange(info.is_subscribe, true);
      InformInfo::Bytes bytes{};
      info.write(bytes);
      if (on) {
        subscriptions_[host.gid].insert(bytes);
      } else if (subscriptions_[host.gid].erase(bytes) == 0) {
        answer = refused(request, SaStatus::RequestInvalid);
      }
      break;
    }
    case attribute::kNotice:
      return;  // a ReportResp
    default:
      break;
  }
  // The upper half of a TransactionID is the MAD layer's own.
  answer.mad.set_transaction(tid(number(answer.mad.transaction()) | 0x7700000000000000));
  host.in.push_back(answer);
  answered_.emplace_back(&host - hosts_.data(), answer);
  if (answered_.size() > 8) answered_.pop_front();
}

void World::peer_hears(Host&, const Datagram& message) {
  if (cm_message_type(message.mad) != CmMessageType::Req) return;
  const auto soul = message.mad.field<kSoulTag, std::uint32_t>();
  const auto local = message.mad.field<kLocalTag, std::uint32_t>();
  connections_.push_back(
      {first_comm_id(message), CommId{static_cast<std::uint32_t>(9000 + connections_.size())}, soul, local});
}

}  // namespace rdmove::gsi::test
