#include "guestagent/agent/rule_replay.hpp"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <spdlog/fmt/fmt.h>

#include "guestagent/agent/netlink_parts.hpp"

namespace rdmove::agent::replay {
namespace {

std::string name_in(const Parts<fib_rule_hdr>& rule, std::uint16_t type) {
  const auto* value = rule.find(type);
  return value == nullptr ? std::string{}
                          : std::string(value->begin(), std::find(value->begin(), value->end(), 0));
}

std::string rule_text(const Parts<fib_rule_hdr>& rule) {
  auto text = fmt::format("rule {}", rule.number(FRA_PRIORITY));
  for (const auto& [type, word] : {std::pair(FRA_IIFNAME, "iif"), std::pair(FRA_OIFNAME, "oif")}) {
    if (const auto name = name_in(rule, static_cast<std::uint16_t>(type)); !name.empty()) {
      text += fmt::format(" {} {}", word, name);
    }
  }
  return text + fmt::format(" table {}", rule.number(FRA_TABLE, rule.header.table));
}

}  // namespace

std::optional<CapturedItem> rule(const nlmsghdr& message, const std::string& netdev) {
  auto bytes = payload_of(message);
  const Parts<fib_rule_hdr> parts(bytes);
  if (message.nlmsg_type != RTM_NEWRULE ||
      (name_in(parts, FRA_IIFNAME) != netdev && name_in(parts, FRA_OIFNAME) != netdev)) {
    return std::nullopt;
  }
  return CapturedItem{rule_text(parts), std::move(bytes)};
}

Bytes rule_for(const Bytes& message, const std::string& was, const std::string& now) {
  // What the kernel says about the rule's state, not part of the rule.
  constexpr std::uint32_t read_only = FIB_RULE_UNRESOLVED | FIB_RULE_IIF_DETACHED | FIB_RULE_OIF_DETACHED;
  Parts<fib_rule_hdr> parts(message);
  parts.header.flags &= ~read_only;
  for (auto& attribute : parts.attributes) {
    const auto type = attribute.type & NLA_TYPE_MASK;
    if ((type != FRA_IIFNAME && type != FRA_OIFNAME) ||
        name_in(parts, static_cast<std::uint16_t>(type)) != was) {
      continue;
    }
    attribute.value.assign(now.begin(), now.end());
    attribute.value.push_back(0);
  }
  return parts.bytes();
}

}  // namespace rdmove::agent::replay
