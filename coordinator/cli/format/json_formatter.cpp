#include "coordinator/cli/format/json_formatter.hpp"

#include <google/protobuf/util/json_util.h>

#include "coordinator/cli/format/agent_object.hpp"

namespace rdmove::cli {
namespace {

std::string json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) throw std::runtime_error("cannot write a reply as JSON: " + status.ToString());
  return text + '\n';
}

}  // namespace

std::string JsonFormatter::format(const v1::ExamineReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::MigrationUpdate& update) const {
  return json(update);
}
std::string JsonFormatter::format(const v1::EvacuationPlan& plan) const {
  return json(plan);
}
std::string JsonFormatter::format(const v1::CancelReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::ResolveReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::ListReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::ShowReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::TimelineReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::ListVfsReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::ShowVfReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::DefineReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::DoctorReply& reply) const {
  return json(reply);
}
std::string JsonFormatter::format(const v1::QueryAgentReply& reply, std::string_view) const {
  return agentObjectAsJson(reply.json());
}

}  // namespace rdmove::cli
