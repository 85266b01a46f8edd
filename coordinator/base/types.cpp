#include "coordinator/base/types.hpp"

#include <fmt/format.h>

namespace rdmove {
namespace {

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
  if (text.size() != 17) return std::nullopt;
  MacAddress mac;
  for (std::size_t i = 0; i < 6; ++i) {
    const int high = hexDigit(text[3 * i]);
    const int low = hexDigit(text[3 * i + 1]);
    if (high < 0 || low < 0 || (i < 5 && text[3 * i + 2] != ':')) return std::nullopt;
    mac.bytes_[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return mac;
}

std::string MacAddress::str() const {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", bytes_[0], bytes_[1], bytes_[2], bytes_[3],
                     bytes_[4], bytes_[5]);
}

std::optional<Model> parseModel(std::string_view text) {
  for (const Model model : {Model::kSharedPort, Model::kVirtualSwitch, Model::kRoce}) {
    if (text == toString(model)) return model;
  }
  return std::nullopt;
}

std::string_view toString(Model model) {
  switch (model) {
    case Model::kSharedPort:
      return "shared-port";
    case Model::kVirtualSwitch:
      return "virtual-switch";
    case Model::kRoce:
      return "roce";
  }
  return "unknown";
}

std::optional<Continuity> parseContinuity(std::string_view text) {
  for (const Continuity c : {Continuity::kReconnect, Continuity::kPark, Continuity::kCarry}) {
    if (text == toString(c)) return c;
  }
  return std::nullopt;
}

std::string_view toString(Continuity continuity) {
  switch (continuity) {
    case Continuity::kReconnect:
      return "reconnect";
    case Continuity::kPark:
      return "park";
    case Continuity::kCarry:
      return "carry";
  }
  return "unknown";
}

}  // namespace rdmove
