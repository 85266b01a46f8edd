#include "guestagent/protocol/field_reader.hpp"

#include <algorithm>

#include "guestagent/protocol/json_text.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol {
namespace {

constexpr const char* not_a_gid = "must be a GID of eight groups of four lower case hex digits";

bool is_gid(const std::string& text) {
  bool good = text.size() == 39;
  for (std::size_t i = 0; good && i < text.size(); ++i) {
    const char c = text[i];
    good = i % 5 == 4 ? c == ':' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  }
  return good;
}

}  // namespace

using nlohmann::json;

FieldReader::FieldReader(const json& value, std::string path) : value_(value), path_(std::move(path)) {
  if (!value_.is_object()) {
    error_ = Error{ErrorCode::InvalidParams, (path_.empty() ? std::string("the message") : path_) +
                                                 ": must be an object, not " + value_.type_name()};
  }
}

std::string FieldReader::path_of(const char* key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void FieldReader::refuse(const char* key, const std::string& why) {
  if (!error_) error_ = Error{ErrorCode::InvalidParams, path_of(key) + ": " + why};
}

bool FieldReader::has(const char* key) const {
  if (!value_.is_object()) return false;
  const auto found = value_.find(key);
  return found != value_.end() && !found->is_null();
}

const json* FieldReader::find(const char* key) {
  if (error_) return nullptr;
  const auto found = value_.find(key);
  if (found == value_.end()) {
    refuse(key, "is missing");
    return nullptr;
  }
  return &*found;
}

const json* FieldReader::find_list(const char* key, std::size_t max_count) {
  const auto* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_array() || value->size() > max_count) {
    refuse(key, "must be a list of at most " + std::to_string(max_count));
    return nullptr;
  }
  return value;
}

const std::string* FieldReader::find_text(const char* key, std::size_t max) {
  const auto* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_string() || value->get_ref<const std::string&>().size() > max) {
    refuse(key, "must be a string of at most " + std::to_string(max) + " bytes");
    return nullptr;
  }
  return &value->get_ref<const std::string&>();
}

void FieldReader::text(const char* key, std::string& out, std::size_t max) {
  if (const auto* value = find_text(key, max)) out = *value;
}

void FieldReader::optional_text(const char* key, std::optional<std::string>& out, std::size_t max) {
  if (!has(key)) return;
  if (const auto* value = find_text(key, max)) out = *value;
}

void FieldReader::boolean(const char* key, bool& out) {
  const auto* value = find(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) return refuse(key, "must be true or false");
  out = value->get<bool>();
}

void FieldReader::optional_boolean(const char* key, bool& out) {
  if (has(key)) boolean(key, out);
}

void FieldReader::mac(const char* key, MacAddress& out) {
  const auto* value = find_text(key, 17);
  if (value == nullptr) return;
  auto parsed = MacAddress::parse(*value);
  if (!parsed) return refuse(key, parsed.error().message);
  out = *parsed;
}

void FieldReader::guid(const char* key, PortGuid& out) {
  const auto* value = find_text(key, 23);
  if (value == nullptr) return;
  auto parsed = PortGuid::parse(*value);
  if (!parsed) return refuse(key, parsed.error().message);
  out = *parsed;
}

void FieldReader::identity(DeviceIdentity& out) {
  if (!has("guid")) return mac("mac", out.emplace<MacAddress>());
  if (has("mac")) return refuse("guid", "must not be there beside a mac");
  guid("guid", out.emplace<PortGuid>());
}

void FieldReader::migration(const char* key, MigrationId& out) {
  const auto* value = find_text(key, limits::migration_bytes);
  if (value == nullptr) return;
  auto parsed = MigrationId::parse(*value);
  if (!parsed) return refuse(key, parsed.error().message);
  out = *parsed;
}

void FieldReader::optional_migration(const char* key, std::optional<MigrationId>& out) {
  if (has(key)) migration(key, out.emplace());
}

void FieldReader::kind(const char* key, DeviceKind& out) {
  const auto* value = find_text(key, limits::name_bytes);
  if (value == nullptr) return;
  auto parsed = parse_device_kind(*value);
  if (!parsed) return refuse(key, parsed.error().message);
  out = *parsed;
}

void FieldReader::gid(const char* key, std::string& out) {
  const auto* value = find_text(key, limits::address_bytes);
  if (value == nullptr) return;
  if (!is_gid(*value)) return refuse(key, not_a_gid);
  out = *value;
}

void FieldReader::gids(const char* key, std::vector<std::string>& out, std::size_t max_count) {
  std::vector<std::string> texts_there;
  texts(key, texts_there, max_count, limits::address_bytes);
  for (auto& text : texts_there) {
    if (!is_gid(text)) return refuse(key, not_a_gid);
    out.push_back(std::move(text));
  }
}

void FieldReader::milliseconds(const char* key, std::chrono::milliseconds& out) {
  std::int64_t count = 0;
  integer<std::int64_t>(key, count, 0, limits::deadline.count());
  out = std::chrono::milliseconds(count);
}

void FieldReader::texts(const char* key, std::vector<std::string>& out, std::size_t max_count,
                        std::size_t max) {
  const auto* value = find_list(key, max_count);
  if (value == nullptr) return;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const auto& element = (*value)[i];
    if (!element.is_string() || element.get_ref<const std::string&>().size() > max) {
      const auto name = std::string(key) + "[" + std::to_string(i) + "]";
      return refuse(name.c_str(), "must be a string of at most " + std::to_string(max) + " bytes");
    }
    out.push_back(element.get<std::string>());
  }
}

void FieldReader::counters(const char* key, std::map<std::string, std::uint64_t>& out,
                           std::size_t max_count) {
  const auto* value = find(key);
  if (value == nullptr) return;
  if (!value->is_object() || value->size() > max_count) {
    return refuse(key, "must be an object of at most " + std::to_string(max_count) + " counters");
  }
  for (const auto& [name, count] : value->items()) {
    if (name.size() > limits::name_bytes || !count.is_number_unsigned()) {
      const auto path = std::string(key) + "." + front_of(name, limits::name_bytes);
      return refuse(path.c_str(), "must be an unsigned integer");
    }
    out.emplace(name, count.get<std::uint64_t>());
  }
}

}  // namespace rdmove::protocol
