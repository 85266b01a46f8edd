#include "shadowdev/model/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "shadowdev/model/fields.hpp"

namespace rdmove::shadow::model {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// Fields as words, nested ones with dots.
class Words {
 public:
  explicit Words(bool deep) : deep_(deep) {}
  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  void operator()(const char* name, const T& value) {
    const auto number = static_cast<std::uint64_t>(value);
    const std::string_view word = name;
    const bool hex = word.ends_with("key") || word == "address" || word == "iova" || word == "access" ||
                     word == "remote_address";
    put(name, hex ? fmt::format("{:#x}", number) : fmt::format("{}", number));
  }
  void operator()(const char* name, const std::string& value) { put(name, value); }
  void operator()(const char* name, const Gid& value) {
    std::string text;
    for (std::size_t i = 0; i < value.size(); i += 2)
      text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", value[i], value[i + 1]);
    put(name, text);
  }
  void operator()(const char* name, const Path& value) {
    const std::string outer = std::exchange(prefix_, prefix_ + name + ".");
    fields(*this, value);
    prefix_ = outer;
  }
  template <class T>
  void operator()(const char* name, const std::vector<T>& value) {
    if (!deep_) return put(name, fmt::format("[{}]", value.size()));
    if constexpr (std::is_integral_v<T>) return put(name, fmt::format("{:02x}", fmt::join(value, "")));
    if (value.empty()) return put(name, "[]");
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string outer = std::exchange(prefix_, fmt::format("{}{}[{}].", prefix_, name, i));
      if constexpr (!std::is_integral_v<T>) fields(*this, value[i]);
      prefix_ = outer;
    }
  }
  Fields said;

 private:
  void put(const char* name, std::string value) { said.emplace_back(prefix_ + name, std::move(value)); }
  bool deep_;
  std::string prefix_;
};

using Objects = std::map<std::pair<std::uint32_t, std::string>, Fields>;

Objects words_of(const Process& process) {
  Objects all;
  auto list = [&](const char* kind, const auto& objects) {
    for (const auto& one : objects) {
      Words words(true);
      fields(words, one);
      all[{static_cast<std::uint32_t>(one.id), kind}] = std::move(words.said);
    }
  };
  lists(list, process);
  return all;
}

void compare(const std::string& name, const Fields& first, const Fields& second,
             std::vector<std::string>& differences) {
  const std::map<std::string, std::string> before(first.begin(), first.end());
  const std::map<std::string, std::string> after(second.begin(), second.end());
  for (const auto& [field, value] : first) {
    const auto other = after.find(field);
    if (other == after.end())
      differences.push_back(fmt::format("{}: {} {} -> nothing", name, field, value));
    else if (other->second != value)
      differences.push_back(fmt::format("{}: {} {} -> {}", name, field, value, other->second));
  }
  for (const auto& [field, value] : second)
    if (!before.contains(field))
      differences.push_back(fmt::format("{}: {} nothing -> {}", name, field, value));
}

}  // namespace

std::string dump(const Process& process, bool deep) {
  std::string text;
  auto list = [&](const char* kind, const auto& objects) {
    for (const auto& one : objects) {
      Words words(deep);
      fields(words, one);
      text += fmt::format("{} {}:", kind, static_cast<std::uint32_t>(one.id));
      for (std::size_t i = 1; i < words.said.size(); ++i)  // the first is the id
        text += fmt::format(" {}={}", words.said[i].first, words.said[i].second);
      text += '\n';
    }
  };
  lists(list, process);
  return text;
}

std::vector<std::string> diff(const Process& first, const Process& second) {
  std::vector<std::string> differences;
  const Objects before = words_of(first);
  const Objects after = words_of(second);
  for (const auto& [key, words] : before) {
    const std::string name = fmt::format("{} {}", key.second, key.first);
    const auto other = after.find(key);
    if (other == after.end())
      differences.push_back(name + ": only in the first");
    else
      compare(name, words, other->second, differences);
  }
  for (const auto& [key, words] : after)
    if (!before.contains(key))
      differences.push_back(fmt::format("{} {}: only in the second", key.second, key.first));
  return differences;
}

}  // namespace rdmove::shadow::model
