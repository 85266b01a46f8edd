#include "guestagent/agent/moves.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "guestagent/agent/anchor.hpp"
#include "guestagent/agent/traffic.hpp"

namespace rdmove::agent {
namespace {

using protocol::Error;
using protocol::ErrorCode;
using protocol::MigrationId;

constexpr std::size_t remembered_answers = 8;

template <class Known>
const Known* find(const std::deque<Known>& known, const MigrationId& migration) {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.migration == migration; });
  return found == known.end() ? nullptr : &*found;
}

template <class Known>
void remember(std::deque<Known>& known, Known answer) {
  known.push_back(std::move(answer));
  if (known.size() > remembered_answers) known.pop_front();
}

template <class Replies, class Answer>
void answer_all(Replies& replies, const Answer& answer) {
  for (const auto& reply : std::exchange(replies, {})) reply(answer);
}

Error busy(const MigrationId& with, const char* how) {
  return {ErrorCode::Busy, fmt::format("this guest is {} migration {}; `restore` it first", how, with.text()),
          protocol::Payload(nlohmann::json{{"migration", with.text()}})};
}

}  // namespace

Moves::Moves(Services& services, OnReady on_ready) : services_(services), on_ready_(std::move(on_ready)) {
  capture_ = services_.store.load();
  if (capture_) {
    spdlog::info("migration={} phase=prepared taken up from an earlier agent", capture_->migration.text());
  } else {
    weigh_anchor(services_.rdma);
  }
}

std::optional<MigrationId> Moves::prepared() const {
  if (!capture_ || undoing_) return std::nullopt;
  return capture_->migration;
}

std::optional<Error> Moves::in_the_way(const MigrationId& migration) const {
  if (preparation_ && preparation_->request().migration != migration) {
    return busy(preparation_->request().migration, "being prepared for");
  }
  if (restoration_ && restoration_->request().migration != migration) {
    return busy(restoration_->request().migration, "being restored after");
  }
  if (capture_ && capture_->migration != migration) return busy(capture_->migration, "prepared for");
  return std::nullopt;
}

void Moves::prepare(const protocol::PrepareRequest& request, PrepareReply reply) {
  if (const auto* known = find(prepared_answers_, request.migration)) return reply(known->answer);
  if (const auto other = in_the_way(request.migration)) return reply(tl::unexpected(*other));
  if (restoration_) return reply(tl::unexpected(busy(request.migration, "being restored after")));
  if (undoing_) {
    return reply(
        tl::unexpected(busy(request.migration, "still waiting for a holdout of the last attempt of")));
  }
  prepare_replies_.push_back(std::move(reply));
  if (preparation_) return;
  std::erase_if(restored_answers_, [&](const auto& known) { return known.migration == request.migration; });

  spdlog::info("migration={} phase=prepare deadline_ms={} devices={} force={}", request.migration.text(),
               request.deadline.count(), request.devices.size(), request.force);
  traffic_before_ = traffic_of(services_.rdma);  // now, while the applications still run: it takes some ms
  preparation_ = std::make_unique<Preparation>(
      services_, request, [this](Preparation::Outcome outcome) { prepared_or_not(std::move(outcome)); },
      [this](const std::string& name) { late_removal(name); });
  preparation_->start();
}

void Moves::prepared_or_not(Preparation::Outcome outcome) {
  const auto finished = std::move(preparation_);
  const auto migration = finished->request().migration;
  removing_.insert(outcome.still_removing.begin(), outcome.still_removing.end());
  capture_ = std::move(outcome.capture);
  if (outcome.answer) {
    outcome.answer->traffic = std::move(traffic_before_);
    remember(prepared_answers_, {migration, *outcome.answer});
  } else if (capture_) {
    undoing_ = true;
    if (removing_.empty()) undo();
  }
  answer_all(prepare_replies_, outcome.answer);
  if (outcome.answer) gone(migration, outcome.answer->took);
  if (auto next = std::exchange(waiting_restore_, std::nullopt)) start_restore(*next);
}

// The host first: it unplugs now, and applications have nothing to do for this word. The anchor has done its
// work when the deletion is finished. That of the anchor itself ends when the applications, told `ready`,
// look at their devices and do not find it: so it has to begin before, and here nobody waits for it.
void Moves::gone(const MigrationId& migration, milliseconds took) {
  services_.applications.removed();
  if (removing_.empty()) weigh_anchor(services_.rdma);
  spdlog::info("migration={} phase=prepared took_ms={}", migration.text(), took.count());
}

void Moves::late_removal(const std::string& rdma_name) {
  spdlog::info("rdma={} is deleted at last", rdma_name);
  removing_.erase(rdma_name);
  if (undoing_ && removing_.empty()) undo();
  if (restoration_) restoration_->advance();
}

// The device itself never left, so its addresses are still there: only the soft-RoCE link has to be made
// again.
void Moves::undo() {
  undoing_ = false;
  const auto capture = std::exchange(capture_, std::nullopt);
  for (const auto& device : capture->devices) {
    const auto link = services_.network.find(device.target.identity, device.target.kind);
    if (!link || device.rdma.empty() || !rdma_device_on(services_.rdma, link->name).empty()) continue;
    if (auto added = services_.rdma.add_soft_roce(device.rdma, link->name); !added) {
      spdlog::error("migration={} rdma={} {}", capture->migration.text(), device.rdma, added.error().message);
    }
    for (const auto& failed : services_.rdma_settings.put_back(device.rdma, device.settings)) {
      spdlog::warn("migration={} not put back: {}", capture->migration.text(), failed);
    }
  }
  services_.store.remove(capture->migration);
  weigh_anchor(services_.rdma);
  services_.applications.resume();
}

void Moves::restore(const protocol::RestoreRequest& request, RestoreReply reply) {
  if (const auto* known = find(restored_answers_, request.migration)) return reply(known->answer);
  if (const auto other = in_the_way(request.migration)) return reply(tl::unexpected(*other));
  restore_replies_.push_back(std::move(reply));
  if (restoration_ || waiting_restore_) return;
  if (preparation_ && !preparation_->give_up()) {
    waiting_restore_ = request;
    return;
  }
  start_restore(request);
}

void Moves::start_restore(const protocol::RestoreRequest& request) {
  spdlog::info("migration={} phase=restore deadline_ms={} captured={}", request.migration.text(),
               request.deadline.count(), capture_.has_value());
  restoration_ = std::make_unique<Restoration>(
      services_, request, capture_,
      [this](const Result<protocol::RestoreResult>& result) { restored_or_not(result); });
  restoration_->start();
}

void Moves::restored_or_not(const Result<protocol::RestoreResult>& result) {
  const auto finished = std::move(restoration_);
  const auto migration = finished->request().migration;
  if (result) {
    remember(restored_answers_, {migration, *result});
    capture_.reset();
    undoing_ = false;
    on_ready_({migration, result->devices});
  }
  answer_all(restore_replies_, result);
  if (!result)
    return spdlog::error("migration={} phase=restore {}", migration.text(), result.error().message);
  // Last what nobody waits for: the applications are connecting again, maybe on the same CPU.
  services_.store.remove(migration);
  for (const auto& warning : result->warnings) spdlog::warn("migration={} {}", migration.text(), warning);
  spdlog::info("migration={} phase=restored took_ms={}", migration.text(), result->took.count());
}

void Moves::links_changed() {
  if (restoration_) restoration_->advance();
}

}  // namespace rdmove::agent
