// Replies as text for people. Nothing here is an interface for scripts: that is --json.
// Stateless but for the width; any thread.
#pragma once

#include "coordinator/cli/format/formatter.hpp"

namespace rdmove::cli {

class TextFormatter : public Formatter {
 public:
  explicit TextFormatter(int width) : width_(width) {}
  std::string format(const v1::ExamineReply& reply) const override;
  std::string format(const v1::MigrationUpdate& update) const override;
  std::string format(const v1::EvacuationPlan& plan) const override;
  std::string format(const v1::CancelReply& reply) const override;
  std::string format(const v1::ResolveReply& reply) const override;
  std::string format(const v1::ListReply& reply) const override;
  std::string format(const v1::ShowReply& reply) const override;
  std::string format(const v1::TimelineReply& reply) const override;
  std::string format(const v1::ListVfsReply& reply) const override;
  std::string format(const v1::ShowVfReply& reply) const override;
  std::string format(const v1::QueryAgentReply& reply, std::string_view query) const override;
  std::string format(const v1::DefineReply& reply) const override;
  std::string format(const v1::DoctorReply& reply) const override;

 private:
  int width_;
};

/// "warning  shared-storage (hosta): sentence", the remedy indented below it; what is worst comes first.
std::string findingsAsText(const google::protobuf::RepeatedPtrField<v1::Finding>& findings);
/// "vm1 (UUID) from hosta to hostb, persistent", and a table of its VFs.
std::string planAsText(const v1::PlanSummary& plan);
/// One with all its VMs; and all that there are, a line each.
std::string evacuationAsText(const v1::EvacuationSummary& evacuation);
std::string evacuationsAsText(const google::protobuf::RepeatedPtrField<v1::EvacuationSummary>& evacuations);
/// What happened, in one line that ends with the migration's id.
std::string closingSentence(const v1::MigrationUpdate& update);

}  // namespace rdmove::cli
