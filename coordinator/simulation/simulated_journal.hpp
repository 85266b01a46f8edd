// The real journal of one daemon, with what befalls it: a full disk, and a kill at a chosen write, before it
// is durable or just after. Once its daemon is dying nothing more is written.
#pragma once

#include <functional>
#include <memory>

#include "coordinator/journal/journal.hpp"

namespace rdmove::simulation {

class SimulatedJournal : public Journal {
 public:
  struct Watch {
    std::function<bool()> dead;
    std::function<bool()> full;
    std::function<void()> before_write;                                               ///< may kill
    std::function<void()> after_write;                                                ///< may kill
    std::function<void(const MigrationId&, Role, const std::string& phase)> entered;  ///< durably
    std::function<void(const MigrationId&, Role, Outcome)> ended;                     ///< durably
  };
  SimulatedJournal(std::unique_ptr<Journal> real, Watch watch)
      : real_(std::move(real)), watch_(std::move(watch)) {}

  Result<void> begin(const MigrationRecord& r, const std::vector<FactRecord>& facts) override {
    return write([&] { return real_->begin(r, facts); });
  }
  Result<void> enter(const MigrationId& id, Role role, const std::string& phase) override {
    const auto written = write([&] { return real_->enter(id, role, phase); });
    if (written) watch_.entered(id, role, phase);
    return written;
  }
  Result<void> mark(const MigrationId& id, Role role, const std::string& step, StepMark mark,
                    const std::string& detail) override {
    return write([&] { return real_->mark(id, role, step, mark, detail); });
  }
  Result<void> finish(const MigrationId& id, Role role, Outcome outcome, const std::string& error) override {
    const auto written = write([&] { return real_->finish(id, role, outcome, error); });
    if (written) watch_.ended(id, role, outcome);
    return written;
  }
  Result<void> setPlan(const MigrationId& id, Role role, const std::string& plan) override {
    return write([&] { return real_->setPlan(id, role, plan); });
  }
  Result<void> setFact(const MigrationId& id, Role role, const std::string& name,
                       const std::string& value) override {
    return write([&] { return real_->setFact(id, role, name, value); });
  }
  Result<std::vector<FactRecord>> facts(const MigrationId& id, Role role) override {
    return real_->facts(id, role);
  }
  Result<void> keepPartnerSteps(const MigrationId& id, Role role,
                                const std::vector<StepRecord>& steps) override {
    return write([&] { return real_->keepPartnerSteps(id, role, steps); });
  }
  Result<std::optional<MigrationRecord>> find(const MigrationId& id, Role role) override {
    return real_->find(id, role);
  }
  Result<std::vector<MigrationRecord>> list(std::size_t newest) override { return real_->list(newest); }
  Result<std::vector<MigrationRecord>> unfinished() override { return real_->unfinished(); }
  Result<std::vector<StepRecord>> steps(const MigrationId& id, Role role) override {
    return real_->steps(id, role);
  }
  Result<void> lease(const std::vector<LeaseRecord>& rows) override {
    return write([&] { return real_->lease(rows); });
  }
  Result<std::vector<LeaseRecord>> leases() override { return real_->leases(); }
  Result<void> makePermanent(const MigrationId& id) override {
    return write([&] { return real_->makePermanent(id); });
  }
  Result<void> renewLeases(const MigrationId& id, std::int64_t expires) override {
    return write([&] { return real_->renewLeases(id, expires); });
  }
  Result<void> freeLeases(const MigrationId& id) override {
    return write([&] { return real_->freeLeases(id); });
  }
  Result<void> keepVf(const MigrationId& id, const VfRecord& record) override {
    return write([&] { return real_->keepVf(id, record); });
  }
  Result<std::vector<VfRecord>> vfRecords() override { return real_->vfRecords(); }
  Result<void> forgetVf(const VfName& vf) override {
    return write([&] { return real_->forgetVf(vf); });
  }
  Result<void> beginEvacuation(const EvacuationRecord& record, const std::vector<EvacuatedVm>& vms) override {
    return write([&] { return real_->beginEvacuation(record, vms); });
  }
  Result<void> keepEvacuated(const EvacuationId& id, const EvacuatedVm& vm) override {
    return write([&] { return real_->keepEvacuated(id, vm); });
  }
  Result<void> cancelEvacuation(const EvacuationId& id) override {
    return write([&] { return real_->cancelEvacuation(id); });
  }
  Result<void> finishEvacuation(const EvacuationId& id, EvacuationOutcome outcome) override {
    return write([&] { return real_->finishEvacuation(id, outcome); });
  }
  Result<std::vector<EvacuationRecord>> evacuations() override { return real_->evacuations(); }
  Result<std::vector<EvacuatedVm>> evacuated(const EvacuationId& id) override { return real_->evacuated(id); }

 private:
  template <class Write>
  Result<void> write(Write write) {
    watch_.before_write();
    if (watch_.dead()) return failure(ErrorCode::kCancelled, "write the journal", "the daemon was killed");
    if (watch_.full()) return failure(ErrorCode::kExhausted, "write the journal", "the disk is full");
    auto written = write();
    watch_.after_write();
    return written;
  }

  std::unique_ptr<Journal> real_;
  Watch watch_;
};

}  // namespace rdmove::simulation
