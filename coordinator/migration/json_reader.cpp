#include "coordinator/migration/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rdmove::plan_json {

Object::Object(const nlohmann::json& json, std::string path) : json_(json), path_(std::move(path)) {
  if (!json_.is_object()) {
    throw FieldError{fmt::format("{}: expected an object, found a {}", path_.empty() ? "document" : path_,
                                 json_.type_name())};
  }
}

void Object::fail(std::string_view field, std::string_view complaint) const {
  throw FieldError{fmt::format("{}{}{}: {}", path_, path_.empty() ? "" : ".", field, complaint)};
}

const nlohmann::json* Object::take(const char* field) {
  known_.emplace_back(field);
  const auto found = json_.find(field);
  return found == json_.end() ? nullptr : &*found;
}

const nlohmann::json& Object::need(const char* field) {
  const nlohmann::json* value = take(field);
  if (value == nullptr) fail(field, "missing");
  return *value;
}

std::string Object::text(const char* field) {
  const nlohmann::json& value = need(field);
  if (!value.is_string()) fail(field, fmt::format("expected a string, found a {}", value.type_name()));
  return value.get<std::string>();
}

std::optional<std::string> Object::optionalText(const char* field) {
  if (!json_.contains(field)) return take(field), std::nullopt;
  return text(field);
}

bool Object::flag(const char* field) {
  const nlohmann::json& value = need(field);
  if (!value.is_boolean()) fail(field, fmt::format("expected true or false, found a {}", value.type_name()));
  return value.get<bool>();
}

std::int64_t Object::number(const char* field, std::int64_t least, std::int64_t most) {
  const nlohmann::json& value = need(field);
  // A number beyond int64 would wrap in get(): it can only be an unsigned one.
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  if (!value.is_number_integer() || huge || value.get<std::int64_t>() < least ||
      value.get<std::int64_t>() > most) {
    fail(field, fmt::format("expected a whole number from {} to {}, found {}", least, most,
                            value.is_number() ? value.dump() : value.type_name()));
  }
  return value.get<std::int64_t>();
}

std::optional<std::int64_t> Object::optionalNumber(const char* field, std::int64_t least, std::int64_t most) {
  if (!json_.contains(field)) return take(field), std::nullopt;
  return number(field, least, most);
}

Object Object::object(const char* field) {
  const nlohmann::json& value = need(field);
  return {value, path_.empty() ? field : path_ + "." + field};
}

std::vector<Object> Object::objects(const char* field, std::size_t most) {
  const nlohmann::json& value = need(field);
  if (!value.is_array()) fail(field, fmt::format("expected an array, found a {}", value.type_name()));
  if (value.size() > most) fail(field, fmt::format("{} entries are more than {}", value.size(), most));
  std::vector<Object> entries;
  for (std::size_t i = 0; i < value.size(); ++i) {
    entries.emplace_back(value[i], fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", field, i));
  }
  return entries;
}

void Object::rejectUnknown() const {
  for (const auto& [field, value] : json_.items()) {
    if (std::find(known_.begin(), known_.end(), field) == known_.end()) fail(field, "there is no such field");
  }
}

}  // namespace rdmove::plan_json
