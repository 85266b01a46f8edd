#include "guestagent/protocol/envelope.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Envelope round_trip(const Envelope& envelope) {
  auto line = encode(envelope);
  EXPECT_TRUE(line);
  EXPECT_EQ(line->back(), '\n');
  auto back = decode(std::string_view(*line).substr(0, line->size() - 1));
  EXPECT_TRUE(back);
  return *back;
}

TEST(Envelope, survives_the_wire) {
  const Payload payload(json{{"a", {1, 2, "x\ny"}}});
  for (const Envelope& envelope :
       {Envelope{Request{RequestId{std::int64_t{7}}, "prepare", payload}},
        Envelope{Request{RequestId{"host-1"}, "m", payload}}, Envelope{Notification{"ready", payload}},
        Envelope{Response{RequestId{std::int64_t{-1}}, payload}},
        Envelope{ErrorResponse{std::nullopt, {ErrorCode::ParseError, "what", {}}}},
        Envelope{ErrorResponse{RequestId{"a"}, {ErrorCode::Holdouts, "who", payload}}},
        Envelope{ErrorResponse{RequestId{"a"}, {ErrorCode::Busy, "who", Payload(json::array())}}},
        Envelope{ErrorResponse{RequestId{"a"}, {ErrorCode::Busy, "who", Payload(json())}}}}) {
    EXPECT_EQ(round_trip(envelope), envelope);
  }
}

struct Refused {
  const char* line;
  ErrorCode code;
  const char* says;
};

class EnvelopeRefuses : public testing::TestWithParam<Refused> {};

TEST_P(EnvelopeRefuses, what_is_no_json_rpc) {
  const auto result = decode(GetParam().line);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().answer.error.code, GetParam().code);
  EXPECT_THAT(result.error().answer.error.message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, EnvelopeRefuses,
    testing::Values(
        Refused{"", ErrorCode::ParseError, "JSON"}, Refused{"{", ErrorCode::ParseError, "JSON"},
        Refused{"\"\xff\xfe\"", ErrorCode::ParseError, "UTF-8"},
        Refused{"{\"a\":\"\xc3\x28\"}", ErrorCode::ParseError, "UTF-8"},
        Refused{"{} {}", ErrorCode::ParseError, "JSON"}, Refused{"[]", ErrorCode::InvalidRequest, "array"},
        Refused{"1", ErrorCode::InvalidRequest, "number"},
        Refused{R"({"id":1,"method":"m"})", ErrorCode::InvalidRequest, "jsonrpc"},
        Refused{R"({"jsonrpc":"1.0","id":1,"method":"m"})", ErrorCode::InvalidRequest, "jsonrpc"},
        Refused{R"({"jsonrpc":"2.0","id":1})", ErrorCode::InvalidRequest, "neither"},
        Refused{R"({"jsonrpc":"2.0","id":1,"method":5})", ErrorCode::InvalidRequest, "method"},
        Refused{R"({"jsonrpc":"2.0","id":1,"method":""})", ErrorCode::InvalidRequest, "method"},
        Refused{R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", ErrorCode::InvalidRequest, "id"},
        Refused{R"({"jsonrpc":"2.0","id":18446744073709551615,"method":"m"})", ErrorCode::InvalidRequest,
                "id"},
        Refused{R"({"jsonrpc":"2.0","id":null,"method":"m"})", ErrorCode::InvalidRequest, "id"},
        Refused{R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})", ErrorCode::InvalidParams, "params"},
        Refused{R"({"jsonrpc":"2.0","id":1,"result":1,"error":{}})", ErrorCode::InvalidRequest, "neither"},
        Refused{R"({"jsonrpc":"2.0","result":1})", ErrorCode::InvalidRequest, "id"},
        Refused{R"({"jsonrpc":"2.0","id":1,"error":7})", ErrorCode::InvalidRequest, "error"},
        Refused{R"({"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}})", ErrorCode::InvalidRequest,
                "code"},
        Refused{R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})", ErrorCode::InvalidRequest, "message"}));

TEST(Envelope, keeps_the_id_of_a_request_that_it_refuses) {
  const auto result = decode(R"({"jsonrpc":"2.0","id":9,"method":"m","params":3})");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().answer.id, RequestId{std::int64_t{9}});
  EXPECT_FALSE(result.error().was_answer);
}

TEST(Envelope, says_when_what_is_broken_was_an_answer) {
  const auto result = decode(R"({"jsonrpc":"2.0","result":{}})");
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().was_answer);
}

std::string nested(int levels) {
  std::string params = "1";
  for (int i = 0; i < levels; ++i) params = "[" + params + "]";
  return R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":)" + params + "}}";
}

TEST(Envelope, limits_the_depth_of_json) {
  EXPECT_TRUE(decode(nested(limits::json_depth - 2)));
  EXPECT_FALSE(decode(nested(limits::json_depth - 1)));
  EXPECT_FALSE(decode(std::string(60'000, '[')));
  EXPECT_TRUE(decode(R"({"jsonrpc":"2.0","method":"m","params":{"a":"[[[[[[[[[[[[[[[[[[[[\"[[[["}})"))
      << "brackets in text";
}

TEST(Envelope, takes_nothing_behind_a_nought) {
  const std::string good = R"({"jsonrpc":"2.0","method":"m"})";
  ASSERT_TRUE(decode(good));
  EXPECT_FALSE(decode(good + '\0' + "and more"));
  EXPECT_FALSE(decode(good + '\0'));
}

TEST(Envelope, cuts_a_long_error_between_two_characters) {
  const std::string before(limits::message_bytes - 1, 'x');
  const auto line = encode(ErrorResponse{RequestId{"a"}, {ErrorCode::Busy, before + "\u00e9", {}}});
  ASSERT_TRUE(line);
  const auto read = decode(std::string_view(*line).substr(0, line->size() - 1));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<ErrorResponse>(*read).error.message, before);
  EXPECT_EQ(round_trip(*read), *read);
}

TEST(Envelope, refuses_to_write_a_line_that_would_be_dropped) {
  const auto line =
      encode(Response{RequestId{std::int64_t{1}}, Payload(json(std::string(limits::line_bytes, 'x')))});
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::InternalError);
}

TEST(Envelope, writes_utf8_whatever_a_process_calls_itself) {
  const auto line = encode(Notification{"m", Payload(json{{"name", "\xff\xfe"}})});
  ASSERT_TRUE(line);
  EXPECT_TRUE(decode(std::string_view(*line).substr(0, line->size() - 1)));
}

// Mutations of a good line: nothing but an answer may come of it.
TEST(Envelope, survives_garbage) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string good = R"({"jsonrpc":"2.0","id":1,"method":"prepare","params":{"a":[1,2,{"b":"c"}]}})";
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    auto line = good;
    for (auto changes = 1 + random() % 4; changes > 0; --changes)
      line[random() % line.size()] = static_cast<char>(random() % 256);
    if (!decode(line)) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace rdmove::protocol
