// An rtnetlink payload taken apart: the family's struct and the attributes, kept as bytes, so that what is
// not known here survives. Internal to the files that replay messages.
#pragma once

#include <linux/netlink.h>
#include <netlink/attr.h>

#include <cstring>

#include "guestagent/agent/netlink_socket.hpp"

namespace rdmove::agent::replay {

// The family's struct at the front of a payload, and the attributes behind it.
template <class Header>
struct Parts {
  explicit Parts(const Bytes& bytes) {
    if (bytes.size() < sizeof header) return;
    std::memcpy(&header, bytes.data(), sizeof header);
    for (std::size_t at = NLMSG_ALIGN(sizeof header); at + NLA_HDRLEN <= bytes.size();) {
      nlattr attribute{};
      std::memcpy(&attribute, bytes.data() + at, sizeof attribute);
      if (attribute.nla_len < NLA_HDRLEN || at + attribute.nla_len > bytes.size()) break;
      attributes.push_back({attribute.nla_type,
                            {bytes.begin() + static_cast<long>(at + NLA_HDRLEN),
                             bytes.begin() + static_cast<long>(at + attribute.nla_len)}});
      at += NLA_ALIGN(attribute.nla_len);
    }
  }

  struct Attribute {
    std::uint16_t type;
    Bytes value;
  };

  [[nodiscard]] const Bytes* find(std::uint16_t type) const {
    for (const auto& attribute : attributes) {
      if ((attribute.type & NLA_TYPE_MASK) == type) return &attribute.value;
    }
    return nullptr;
  }
  [[nodiscard]] std::uint32_t number(std::uint16_t type, std::uint32_t otherwise = 0) const {
    const auto* value = find(type);
    std::uint32_t out = otherwise;
    if (value != nullptr && value->size() == sizeof out) std::memcpy(&out, value->data(), sizeof out);
    return out;
  }
  void set_number(std::uint16_t type, std::uint32_t number) {
    for (auto& attribute : attributes) {
      if (attribute.type == type && attribute.value.size() == sizeof number) {
        std::memcpy(attribute.value.data(), &number, sizeof number);
      }
    }
  }
  void drop(std::uint16_t type) {
    std::erase_if(attributes,
                  [&](const auto& attribute) { return (attribute.type & NLA_TYPE_MASK) == type; });
  }
  void add(std::uint16_t type, std::uint32_t number) {
    Bytes value(sizeof number);
    std::memcpy(value.data(), &number, sizeof number);
    attributes.push_back({type, std::move(value)});
  }

  [[nodiscard]] Bytes bytes() const {
    Bytes out(NLMSG_ALIGN(sizeof header));
    std::memcpy(out.data(), &header, sizeof header);
    for (const auto& attribute : attributes) {
      const nlattr head{static_cast<std::uint16_t>(NLA_HDRLEN + attribute.value.size()), attribute.type};
      const auto at = out.size();
      out.resize(at + NLA_HDRLEN + NLA_ALIGN(attribute.value.size()));
      std::memcpy(out.data() + at, &head, sizeof head);
      if (!attribute.value.empty())
        std::memcpy(out.data() + at + NLA_HDRLEN, attribute.value.data(), attribute.value.size());
    }
    return out;
  }

  Header header{};
  std::vector<Attribute> attributes;
};

}  // namespace rdmove::agent::replay
