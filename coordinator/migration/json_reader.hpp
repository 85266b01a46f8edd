// One JSON object read strictly: fields are asked for by name and type, and what nothing asked for is an
// error. Internal to plan_json.cpp; wrong input throws FieldError, which does not leave it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmove::plan_json {

struct FieldError {
  std::string sentence;  ///< "vfs[1].identity.mac: expected ..., found ..."
};

class Object {
 public:
  Object(const nlohmann::json& json, std::string path);

  std::string text(const char* field);
  std::optional<std::string> optionalText(const char* field);
  bool flag(const char* field);
  std::int64_t number(const char* field, std::int64_t least, std::int64_t most);
  std::optional<std::int64_t> optionalNumber(const char* field, std::int64_t least, std::int64_t most);
  Object object(const char* field);
  std::vector<Object> objects(const char* field, std::size_t most);

  [[noreturn]] void fail(std::string_view field, std::string_view complaint) const;
  /// To be called last.
  void rejectUnknown() const;

 private:
  const nlohmann::json* take(const char* field);
  const nlohmann::json& need(const char* field);

  const nlohmann::json& json_;
  std::string path_;
  std::vector<std::string> known_;
};

}  // namespace rdmove::plan_json
