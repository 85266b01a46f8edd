// Turns one reply of the daemon into what is printed: text for people, or JSON for programs (docs/json.md).
// Stateless; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "coordinator/service/api/local.pb.h"

namespace rdmove::cli {

enum class OutputForm { kText, kJson };

class Formatter {
 public:
  virtual ~Formatter() = default;
  virtual std::string format(const v1::ExamineReply& reply) const = 0;
  virtual std::string format(const v1::MigrationUpdate& update) const = 0;
  virtual std::string format(const v1::EvacuationPlan& plan) const = 0;
  virtual std::string format(const v1::CancelReply& reply) const = 0;
  virtual std::string format(const v1::ResolveReply& reply) const = 0;
  virtual std::string format(const v1::ListReply& reply) const = 0;
  virtual std::string format(const v1::ShowReply& reply) const = 0;
  virtual std::string format(const v1::TimelineReply& reply) const = 0;
  virtual std::string format(const v1::ListVfsReply& reply) const = 0;
  virtual std::string format(const v1::ShowVfReply& reply) const = 0;
  virtual std::string format(const v1::QueryAgentReply& reply, std::string_view query) const = 0;
  virtual std::string format(const v1::DefineReply& reply) const = 0;
  virtual std::string format(const v1::DoctorReply& reply) const = 0;
};

/// `width` is for the timeline's text.
std::unique_ptr<Formatter> makeFormatter(OutputForm form, int width);

}  // namespace rdmove::cli
