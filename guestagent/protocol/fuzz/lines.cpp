// Bytes as either end of a channel may send them: the host, the guest's agent, an application. Lines are the
// same however the stream is cut; what is decoded is encoded to the same; what a message says is said again
// by what was read of it; and after garbage comes the next line.
#include "guestagent/protocol/application.hpp"
#include "guestagent/protocol/envelope.hpp"
#include "guestagent/protocol/events.hpp"
#include "guestagent/protocol/hello.hpp"
#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/line_splitter.hpp"
#include "guestagent/protocol/move.hpp"

#include "guestagent/fuzz/steps.hpp"
#include "guestagent/fuzz/target.hpp"

namespace rdmove::protocol {
namespace {

using fuzz::require;

constexpr std::size_t short_line = 200;  // so that inputs of a few hundred bytes reach the limit

std::string_view without_end(const std::string& line) {
  return std::string_view(line).substr(0, line.size() - 1);
}

// The answer to a bad line goes to the other end, which must understand it.
void check_error(const ErrorResponse& answer) {
  require(!answer.error.message.empty(), "an error says nothing");
  const auto line = encode(answer);
  require(line.has_value(), "an error does not fit a line");
  const auto back = decode(without_end(*line));
  require(back && std::holds_alternative<ErrorResponse>(*back), "an error cannot be read");
  require(*back == Envelope(answer), "an error is read as another");
}

template <class Message>
void check_message(const Payload& payload) {
  const auto message = Message::from_payload(payload);
  if (!message) return check_error({std::nullopt, message.error()});
  const auto again = Message::from_payload(message->to_payload());
  require(again && *again == *message, "a message is read as another than it was written");
}

template <class... Messages>
void check_messages(const Payload& payload) {
  (check_message<Messages>(payload), ...);
}

void check_payload(const Payload& payload) {
  check_messages<HelloRequest, HelloAnswer, PrepareRequest, PrepareResult, RestoreRequest, RestoreResult,
                 MissingPiece, StatusResult, HoldoutsResult, CountersResult, AppsResult, DeviceRemoved,
                 DeviceArrived, Ready>(payload);
  check_messages<application::Register, application::Accepted, application::Report, application::Quiesce,
                 application::Released, application::Ready>(payload);
}

struct CheckPayloads {
  void operator()(const Request& request) const { check_payload(request.params); }
  void operator()(const Notification& notification) const { check_payload(notification.params); }
  void operator()(const Response& response) const { check_payload(response.result); }
  void operator()(const ErrorResponse& response) const { check_payload(response.error.data); }
};

void check_line(std::string_view line) {
  const auto envelope = decode(line);
  if (!envelope) return check_error(envelope.error().answer);
  for (const char c : line)
    require(static_cast<unsigned char>(c) >= ' ' || c == '\t' || c == '\r', "a control character is no JSON");
  std::visit(CheckPayloads{}, *envelope);
  const auto written = encode(*envelope);
  if (!written) return;  // numbers may be longer as we write them
  const auto back = decode(without_end(*written));
  require(back && *back == *envelope, "an envelope is read as another than it was written");
}

std::vector<std::string> lines_in(std::string_view stream, std::size_t piece) {
  LineSplitter splitter(short_line);
  std::vector<std::string> out;
  for (const auto part : fuzz::pieces_of(stream, piece)) {
    splitter.push(part, [&](std::string_view line) { out.emplace_back(line); });
    require(splitter.pending_bytes() <= short_line, "more is kept than a line may have");
  }
  const auto before = out.size();
  splitter.push("\nnext\n", [&](std::string_view line) { out.emplace_back(line); });
  require(out.size() > before && out.back() == "next", "the line after garbage is lost");
  return out;
}

}  // namespace
}  // namespace rdmove::protocol

void rdmove::fuzz::run(std::span<const std::uint8_t> input) {
  const std::string_view stream(reinterpret_cast<const char*>(input.data()), input.size());
  require(protocol::lines_in(stream, stream.size()) == protocol::lines_in(stream, 7),
          "the lines depend on how the stream is cut");
  protocol::LineSplitter splitter;
  splitter.push(stream, protocol::check_line);
  splitter.push("\n", protocol::check_line);
}
