// The proto3 JSON mapping of each reply, one object on one line. Schema and promise: docs/json.md.
// Stateless; any thread.
#pragma once

#include "coordinator/cli/format/formatter.hpp"

namespace rdmove::cli {

class JsonFormatter : public Formatter {
 public:
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
};

}  // namespace rdmove::cli
