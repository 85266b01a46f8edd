// What the administrator answers, and what follows when it does not.
#include <algorithm>

#include "shadowdev/gsi/shared_records.hpp"

namespace rdmove::gsi {
namespace {

constexpr std::uint16_t kBusyBit = 0x0001;

}  // namespace

void SharedRecords::answered(const Mad& answer) {
  const auto flight_at = flights_.find(static_cast<std::uint64_t>(answer.transaction()));
  if (flight_at == flights_.end()) return;
  const RecordKey key = flight_at->second;
  Item& item = items_.at(key);
  // Busy: the request was not looked at. It is tried again when its time is up.
  if ((answer.status() & kBusyBit) != 0) return;
  flights_.erase(flight_at);
  if (!item.flight->is_join) {
    // Refused or not: at the administrator, the port is not in it any more.
    const Flight flight = *item.flight;
    item.flight.reset();
    left(item, flight);
    advance(key);
  } else if (answer.status() == 0) {
    joined(key, answer);
  } else {
    not_joined(key, answer.status());
  }
  unblock();
}

void SharedRecords::joined(RecordKey key, const Mad& answer) {
  auto at = items_.find(key);
  const RecordBytes record = kind_.record_in(answer);
  if (const RecordKey named = kind_.key_of(record); named != key) {
    // Another record than the one that was asked for is no answer.
    if (!at->second.flight->is_nameless || items_.contains(named))
      return not_joined(key, static_cast<std::uint16_t>(SaStatus::RequestInvalid));
    auto node = items_.extract(at);
    node.key() = named;
    at = items_.insert(std::move(node)).position;
    key = named;
  }
  Item& item = at->second;
  const Flight flight = *item.flight;
  item.flight.reset();
  if (flight.is_stale) return advance(key);
  const bool is_changed = item.is_known && !kind_.is_same(item.record, record);
  item.record = record;
  item.is_known = true;
  item.port = item.port | flight.state;
  item.doubt = item.doubt - flight.state;
  if (is_changed) {
    for (const auto& [function, state] : item.holders)
      desk_.changed(function, kind_.held(record, state), RecordChange::Changed, 0);
  }
  if (flight.is_for_ask) {
    const Ask& ask = item.queue.front();
    JoinState& held = item.holders[ask.function];
    if (held.empty()) ++held_[index_of(ask.function)];
    held = held | ask.wanted.state;
    desk_.answer(ask.function, ask.request, kind_.answer(ask.request.mad, record, held));
    pop_front(item);
  }
  advance(key);
}

void SharedRecords::not_joined(const RecordKey& key, std::uint16_t status) {
  Item& item = items_.at(key);
  const Flight flight = *item.flight;
  item.flight.reset();
  if (flight.is_stale) return advance(key);
  if (flight.is_for_ask) {
    const Ask& ask = item.queue.front();
    refuse(ask.function, ask.request, SaStatus{status});
    pop_front(item);
  } else {
    lose(item, flight.state, status);
  }
  advance(key);
}

void SharedRecords::lose(Item& item, JoinState state, std::uint16_t status) {
  for (auto at = item.holders.begin(); at != item.holders.end();) {
    const JoinState missing = (at->second - (at->second - state)) - item.port;
    const FunctionId function = at->first;
    if (missing.empty()) {
      ++at;
      continue;
    }
    at->second = at->second - missing;
    desk_.changed(function, kind_.held(item.record, at->second), RecordChange::Lost, status);
    if (!at->second.empty()) {
      ++at;
      continue;
    }
    --held_[index_of(function)];
    at = item.holders.erase(at);
  }
}

// A function's request to leave is done, here or at the administrator; or what nobody needed is left.
void SharedRecords::left(Item& item, const Flight& flight) {
  item.port = item.port - flight.state;
  item.doubt = item.doubt - flight.state;
  if (!flight.is_for_ask) return;
  const Ask& ask = item.queue.front();
  if (const auto holder = item.holders.find(ask.function); holder != item.holders.end()) {
    holder->second = holder->second - ask.wanted.state;
    const JoinState rest = holder->second;
    if (rest.empty()) {
      item.holders.erase(holder);
      --held_[index_of(ask.function)];
    }
    desk_.answer(ask.function, ask.request, kind_.answer(ask.request.mad, item.record, rest));
  }
  pop_front(item);
}

void SharedRecords::pop_front(Item& item) {
  --waiting_[index_of(item.queue.front().function)];
  item.queue.pop_front();
}

void SharedRecords::tick(TimePoint now) {
  std::vector<RecordKey> due;
  for (const auto& [key, item] : items_) {
    if (item.flight && item.flight->deadline <= now) due.push_back(key);
  }
  for (const RecordKey& key : due) {
    Item& item = items_.at(key);
    Flight& flight = *item.flight;
    if (flight.attempts >= limits_.attempts) {
      gave_up(key);
      continue;
    }
    if (desk_.ask_administrator(flight.request)) ++flight.attempts;
    flight.deadline = now + limits_.attempt;
  }
  unblock();
}

// The administrator is silent. A function that waits has its own patience and asks again; what the port had
// asked for by itself is lost, and the port's owner hears of it.
void SharedRecords::gave_up(const RecordKey& key) {
  Item& item = items_.at(key);
  const Flight flight = *item.flight;
  flights_.erase(static_cast<std::uint64_t>(flight.request.transaction()));
  item.flight.reset();
  if (!flight.is_join) {
    left(item, flight);
  } else {
    // It may have been granted, and only the answer be lost. A group without a name yet cannot be left.
    if (!flight.is_nameless) item.doubt = item.doubt | flight.state;
    if (flight.is_for_ask) {
      if (!item.is_known) item.record = kind_.record_in(flight.request);
      pop_front(item);
    } else {
      lose(item, flight.state, static_cast<std::uint16_t>(SaStatus::Busy));
    }
  }
  advance(key);
}

void SharedRecords::unblock() {
  for (std::size_t left = blocked_.size(); left > 0; --left) {
    const RecordKey key = blocked_.front();
    blocked_.pop_front();
    const std::size_t before = blocked_.size();
    advance(key);
    if (blocked_.size() > before) {
      // Still no room. It was first, and stays so.
      std::rotate(blocked_.begin(), std::prev(blocked_.end()), blocked_.end());
      return;
    }
  }
}

std::optional<TimePoint> SharedRecords::next_deadline() const {
  std::optional<TimePoint> next;
  for (const auto& [key, item] : items_) {
    if (item.flight && (!next || item.flight->deadline < *next)) next = item.flight->deadline;
  }
  // Room comes with an answer or with time.
  if (!blocked_.empty() && !next) next = desk_.now() + limits_.attempt;
  return next;
}

}  // namespace rdmove::gsi
