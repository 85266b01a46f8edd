#include "shadowdev/gsi/shared_records.hpp"

#include <algorithm>

namespace rdmove::gsi {
JoinState SharedRecords::Item::needed() const {
  JoinState all;
  for (const auto& [function, state] : holders) all = all | state;
  return all;
}

Verdict SharedRecords::refuse(FunctionId function, const Datagram& request, SaStatus status) {
  desk_.answer(function, request, refusal_of(request.mad, status));
  return Verdict::AnsweredHere;
}

Verdict SharedRecords::ask(FunctionId function, const Datagram& request, const std::vector<Gid>& own) {
  auto wanted = kind_.read(request.mad, own);
  if (!wanted) return refuse(function, request, wanted.error());
  if (wanted->is_nameless) {
    // Until the administrator has named it, it is told from others by a number where no MGID has bytes.
    for (auto& [key, item] : items_) {
      for (const Ask& ask : item.queue) {
        if (ask.function == function && ask.request.mad == request.mad) return Verdict::Waiting;
      }
    }
    store(wanted->key.data() + 24, ++nameless_);
  }
  auto at = items_.find(wanted->key);
  if (at != items_.end()) {
    const auto is_it = [&](const Ask& ask) {
      return ask.function == function && ask.request.mad.transaction() == request.mad.transaction();
    };
    if (std::any_of(at->second.queue.begin(), at->second.queue.end(), is_it)) return Verdict::Waiting;
  }
  if (!wanted->is_join && (at == items_.end() || !at->second.holders.contains(function)))
    return refuse(function, request, SaStatus::RequestInvalid);
  const bool is_new = at == items_.end() || !at->second.holders.contains(function);
  if (is_new && held_[index_of(function)] + waiting_[index_of(function)] >= limits_.records_per_function)
    return refuse(function, request, SaStatus::NoResources);
  if (waiting_[index_of(function)] >= limits_.waiting_per_function) return Verdict::OverQuota;

  const RecordKey key = wanted->key;
  items_[key].queue.push_back({function, request, *wanted});
  ++waiting_[index_of(function)];
  const std::size_t before = waiting_[index_of(function)];
  advance(key);
  return waiting_[index_of(function)] < before ? Verdict::AnsweredHere : Verdict::Waiting;
}

// Does what can be done for this record now: answers from what the port has, or one request to the
// administrator.
void SharedRecords::advance(const RecordKey& key) {
  while (true) {
    const auto at = items_.find(key);
    if (at == items_.end() || at->second.flight) return;
    Item& item = at->second;
    const JoinState needed = item.needed();
    if (!item.port.covers(needed)) {
      launch(key, item, {.request = kind_.rejoin(item.record, needed), .is_join = true, .state = needed});
      return;
    }
    if (!item.queue.empty()) {
      if (!serve_front(key, item)) return;
      continue;
    }
    const JoinState excess = (item.port | item.doubt) - needed;
    if (!excess.empty()) {
      launch(key, item, {.request = kind_.leave(item.record, excess), .state = excess});
    } else if (item.holders.empty()) {
      items_.erase(at);
    }
    return;
  }
}

bool SharedRecords::serve_front(const RecordKey& key, Item& item) {
  return item.queue.front().wanted.is_join ? serve_join(key, item) : serve_leave(key, item);
}

bool SharedRecords::serve_join(const RecordKey& key, Item& item) {
  const Ask& ask = item.queue.front();
  if (!item.is_known || !item.port.covers(ask.wanted.state)) {
    launch(key, item,
           {.request = kind_.join(ask.request.mad),
            .is_join = true,
            .is_for_ask = true,
            .is_nameless = ask.wanted.is_nameless,
            .state = ask.wanted.state});
    return false;
  }
  if (const SaStatus status = kind_.check(item.record, ask.request.mad); status != SaStatus::Success) {
    refuse(ask.function, ask.request, status);
  } else {
    JoinState& held = item.holders[ask.function];
    if (held.empty()) ++held_[index_of(ask.function)];
    held = held | ask.wanted.state;
    desk_.answer(ask.function, ask.request, kind_.answer(ask.request.mad, item.record, held));
  }
  pop_front(item);
  return true;
}

bool SharedRecords::serve_leave(const RecordKey& key, Item& item) {
  const Ask& ask = item.queue.front();
  const auto holder = item.holders.find(ask.function);
  if (holder == item.holders.end() || !holder->second.covers(ask.wanted.state)) {
    refuse(ask.function, ask.request, SaStatus::RequestInvalid);
    pop_front(item);
    return true;
  }
  JoinState others;
  for (const auto& [function, state] : item.holders) {
    others = others | (function == ask.function ? state - ask.wanted.state : state);
  }
  const JoinState excess = item.port - others;
  if (!excess.empty()) {
    launch(key, item, {.request = kind_.leave(item.record, excess), .is_for_ask = true, .state = excess});
    return false;
  }
  left(item, {.is_for_ask = true});
  return true;
}

void SharedRecords::launch(const RecordKey& key, Item& item, Flight flight) {
  const TransactionId id = desk_.fresh_id();
  flight.request.set_transaction(id);
  if (!desk_.ask_administrator(flight.request)) {
    if (std::find(blocked_.begin(), blocked_.end(), key) == blocked_.end()) blocked_.push_back(key);
    return;
  }
  flight.deadline = desk_.now() + limits_.attempt;
  item.flight = flight;
  flights_[static_cast<std::uint64_t>(id)] = key;
}

void SharedRecords::forget(FunctionId function) {
  std::vector<RecordKey> touched;
  for (auto& [key, item] : items_) {
    const bool is_flying_for_it =
        item.flight && item.flight->is_for_ask && item.queue.front().function == function;
    const auto dropped = std::erase_if(item.queue, [&](const Ask& ask) { return ask.function == function; });
    // The answer to it still counts for the port, which then has too much and leaves.
    if (is_flying_for_it) item.flight->is_for_ask = false;
    if (item.holders.erase(function) > 0 || dropped > 0) touched.push_back(key);
  }
  waiting_[index_of(function)] = held_[index_of(function)] = 0;
  for (const RecordKey& key : touched) advance(key);
}

std::vector<HeldRecord> SharedRecords::held_by(FunctionId function) const {
  std::vector<HeldRecord> all;
  for (const auto& [key, item] : items_) {
    const auto holder = item.holders.find(function);
    if (holder != item.holders.end())
      all.push_back({kind_.held(item.record, holder->second), holder->second});
  }
  return all;
}

void SharedRecords::hold(FunctionId function, const std::vector<HeldRecord>& records) {
  for (const HeldRecord& held : records) {
    if (held.state.empty()) continue;
    const RecordKey key = kind_.key_of(held.record);
    Item& item = items_[key];
    JoinState& state = item.holders[function];
    if (state.empty()) ++held_[index_of(function)];
    state = state | held.state;
    if (item.is_known && !kind_.is_same(held.record, item.record)) {
      desk_.changed(function, kind_.held(item.record, state), RecordChange::Changed, 0);
    }
    if (!item.is_known) {
      item.record = held.record;
      item.is_known = true;
    }
    advance(key);
  }
}

void SharedRecords::ask_again() {
  std::vector<RecordKey> keys;
  for (auto& [key, item] : items_) {
    item.port = item.doubt = JoinState{};
    if (item.flight) item.flight->is_stale = true;
    keys.push_back(key);
  }
  for (const RecordKey& key : keys) advance(key);
}

std::size_t SharedRecords::waiting(FunctionId function) const {
  return waiting_[index_of(function)];
}

JoinState SharedRecords::port_state(const RecordKey& key) const {
  const auto at = items_.find(key);
  return at == items_.end() ? JoinState{} : at->second.port;
}

void SharedRecords::for_each(const std::function<void(const RecordBytes&, const Holders&)>& call) const {
  for (const auto& [key, item] : items_) {
    if (!item.port.empty()) call(item.record, item.holders);
  }
}

}  // namespace rdmove::gsi
