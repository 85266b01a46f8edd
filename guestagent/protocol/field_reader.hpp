// Reads a message's fields one by one and remembers the first thing that is wrong, by the field's path.
// Internal to the protocol's .cpp files and to the agent's own captured file. Keys that nobody asks for are
// ignored.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "guestagent/protocol/types.hpp"

namespace rdmove::protocol {

class FieldReader {
 public:
  /// `value` must outlive the reader. `path` is what errors call it ("devices[2]"); empty at the top.
  FieldReader(const nlohmann::json& value, std::string path = {});

  void text(const char* key, std::string& out, std::size_t max);
  void optional_text(const char* key, std::optional<std::string>& out,
                     std::size_t max);  // absent or null: none
  void boolean(const char* key, bool& out);
  void optional_boolean(const char* key, bool& out);
  void mac(const char* key, MacAddress& out);
  void guid(const char* key, PortGuid& out);
  void identity(DeviceIdentity& out);  // "mac" or "guid", one of them
  void migration(const char* key, MigrationId& out);
  void optional_migration(const char* key, std::optional<MigrationId>& out);
  void kind(const char* key, DeviceKind& out);
  void gid(const char* key, std::string& out);
  void gids(const char* key, std::vector<std::string>& out, std::size_t max_count);
  void milliseconds(const char* key, std::chrono::milliseconds& out);
  void texts(const char* key, std::vector<std::string>& out, std::size_t max_count, std::size_t max);
  void counters(const char* key, std::map<std::string, std::uint64_t>& out, std::size_t max_count);

  template <class Int>
  void integer(const char* key, Int& out, Int low = std::numeric_limits<Int>::min(),
               Int high = std::numeric_limits<Int>::max()) {
    if (const auto* value = find(key)) {
      const bool fits = value->is_number_unsigned()
                            ? std::in_range<Int>(value->get<std::uint64_t>())
                            : value->is_number_integer() && std::in_range<Int>(value->get<std::int64_t>());
      if (!fits || value->get<Int>() < low || value->get<Int>() > high) {
        refuse(key, "must be an integer from " + std::to_string(low) + " to " + std::to_string(high));
        return;
      }
      out = value->get<Int>();
    }
  }

  template <class Int>
  void integers(const char* key, std::vector<Int>& out, std::size_t max_count) {
    const auto* value = find_list(key, max_count);
    if (value == nullptr) return;
    for (const auto& each : *value) {
      if (!each.is_number_unsigned() || !std::in_range<Int>(each.template get<std::uint64_t>())) {
        refuse(key, "must be integers from 0 to " + std::to_string(std::numeric_limits<Int>::max()));
        return;
      }
      out.push_back(each.template get<Int>());
    }
  }

  /// `read` is void(FieldReader&, T&), called for each element, which must be an object.
  template <class T, class Read>
  void list(const char* key, std::vector<T>& out, std::size_t max_count, Read read) {
    const auto* value = find_list(key, max_count);
    if (value == nullptr) return;
    for (std::size_t i = 0; i < value->size() && !error_; ++i) {
      FieldReader element((*value)[i], path_of(key) + "[" + std::to_string(i) + "]");
      T item{};
      if (!element.error_) read(element, item);
      error_ = std::move(element.error_);
      out.push_back(std::move(item));
    }
  }

  /// As list(), but the key may be absent.
  template <class T, class Read>
  void optional_list(const char* key, std::vector<T>& out, std::size_t max_count, Read read) {
    if (has(key)) list(key, out, max_count, read);
  }

  /// An object below this one; absent or null: none.
  template <class T, class Read>
  void optional_object(const char* key, std::optional<T>& out, Read read) {
    const auto* value = has(key) ? find(key) : nullptr;
    if (value == nullptr) return;
    FieldReader below(*value, path_of(key));
    if (!below.error_) read(below, out.emplace());
    if (below.error_) error_ = std::move(below.error_);
  }

  [[nodiscard]] bool has(const char* key) const;
  void refuse(const char* key, const std::string& why);

  template <class T>
  Result<T> finish(T value) {
    if (error_) return tl::unexpected(*error_);
    return value;
  }

 private:
  const nlohmann::json* find(const char* key);
  const nlohmann::json* find_list(const char* key, std::size_t max_count);
  const std::string* find_text(const char* key, std::size_t max);
  [[nodiscard]] std::string path_of(const char* key) const;

  const nlohmann::json& value_;
  std::string path_;
  std::optional<Error> error_;
};

}  // namespace rdmove::protocol
