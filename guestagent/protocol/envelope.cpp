#include "guestagent/protocol/envelope.hpp"

#include <nlohmann/json.hpp>

#include "guestagent/protocol/json_text.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol {
namespace {

using nlohmann::json;

std::optional<RequestId> read_id(const json& object) {
  const auto id = object.find("id");
  if (id == object.end()) return std::nullopt;
  if (id->is_number_unsigned() && id->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (id->is_number_integer()) return RequestId{id->get<std::int64_t>()};
  if (id->is_string() && id->get_ref<const std::string&>().size() <= limits::id_bytes) {
    return RequestId{id->get<std::string>()};
  }
  return std::nullopt;
}

json id_json(const RequestId& id) {
  return std::visit([](const auto& value) { return json(value); }, id);
}

tl::unexpected<DecodeFailure> refuse(const json& object, std::string why) {
  const bool answer = object.contains("result") || object.contains("error");
  return tl::unexpected(
      DecodeFailure{{read_id(object), {ErrorCode::InvalidRequest, std::move(why)}}, answer});
}

tl::expected<Envelope, DecodeFailure> decode_call(const json& object) {
  const auto& method = object.at("method");
  if (!method.is_string()) return refuse(object, "method: must be a string");
  auto name = method.get<std::string>();
  if (name.empty() || name.size() > limits::method_bytes) {
    return refuse(object, "method: must have 1 to " + std::to_string(limits::method_bytes) + " bytes");
  }
  auto id = read_id(object);
  if (object.contains("id") && !id) return refuse(object, "id: must be a 64-bit integer or a short string");

  Payload params;
  if (const auto given = object.find("params"); given != object.end()) {
    if (!given->is_object()) {
      Error error{ErrorCode::InvalidParams,
                  std::string("params: must be an object, not ") + given->type_name()};
      return tl::unexpected(DecodeFailure{{std::move(id), std::move(error)}});
    }
    params = Payload(*given);
  }
  if (!id) return Notification{std::move(name), std::move(params)};
  return Request{std::move(*id), std::move(name), std::move(params)};
}

tl::expected<Envelope, DecodeFailure> decode_error(const json& object, std::optional<RequestId> id) {
  const auto& error = object.at("error");
  if (!error.is_object()) return refuse(object, "error: must be an object");
  const auto code = error.find("code");
  const auto message = error.find("message");
  if (code == error.end() || !code->is_number_integer())
    return refuse(object, "error.code: must be an integer");
  const auto number = code->get<std::int64_t>();
  if (number < INT32_MIN || number > INT32_MAX) return refuse(object, "error.code: must be a 32-bit integer");
  if (message == error.end() || !message->is_string())
    return refuse(object, "error.message: must be a string");
  Error out{static_cast<ErrorCode>(number),
            front_of(message->get_ref<const std::string&>(), limits::message_bytes)};
  if (const auto data = error.find("data"); data != error.end()) out.data = Payload(*data);
  return ErrorResponse{std::move(id), std::move(out)};
}

struct ToJson {
  json operator()(const Request& request) const {
    return {{"jsonrpc", "2.0"},
            {"id", id_json(request.id)},
            {"method", request.method},
            {"params", request.params.json()}};
  }
  json operator()(const Notification& notification) const {
    return {{"jsonrpc", "2.0"}, {"method", notification.method}, {"params", notification.params.json()}};
  }
  json operator()(const Response& response) const {
    return {{"jsonrpc", "2.0"}, {"id", id_json(response.id)}, {"result", response.result.json()}};
  }
  json operator()(const ErrorResponse& response) const {
    json error{{"code", static_cast<int>(response.error.code)}, {"message", response.error.message}};
    if (response.error.data != Payload()) error["data"] = response.error.data.json();
    return {{"jsonrpc", "2.0"},
            {"id", response.id ? id_json(*response.id) : json()},
            {"error", std::move(error)}};
  }
};

}  // namespace

std::string to_text(const RequestId& id) {
  return id_json(id).dump(-1, ' ', false, json::error_handler_t::replace);
}

tl::expected<Envelope, DecodeFailure> decode(std::string_view line) {
  auto parsed = parse_object(line);
  if (!parsed) return tl::unexpected(DecodeFailure{{std::nullopt, parsed.error()}});
  const json& object = *parsed;

  const auto version = object.find("jsonrpc");
  if (version == object.end() || *version != "2.0") return refuse(object, "jsonrpc: must be \"2.0\"");
  const bool has_result = object.contains("result");
  const bool has_error = object.contains("error");
  if (object.contains("method")) {
    if (has_result || has_error) return refuse(object, "method: must not stand next to result or error");
    return decode_call(object);
  }
  if (has_result == has_error)
    return refuse(object, "neither a call (method) nor an answer (result or error)");

  auto id = read_id(object);
  if (!id && !(has_error && object.contains("id") && object.at("id").is_null())) {
    return refuse(object, "id: an answer needs the id of its request");
  }
  if (has_error) return decode_error(object, std::move(id));
  return Response{std::move(*id), Payload(object.at("result"))};
}

Result<std::string> encode(const Envelope& envelope) {
  auto line = dump(std::visit(ToJson{}, envelope));
  if (line.size() > limits::line_bytes) {
    return fail(ErrorCode::InternalError, "a message of " + std::to_string(line.size()) +
                                              " bytes does not fit in a line of " +
                                              std::to_string(limits::line_bytes));
  }
  line += '\n';
  return line;
}

}  // namespace rdmove::protocol
