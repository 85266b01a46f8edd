#include "guestagent/protocol/payload.hpp"

#include <nlohmann/json.hpp>

#include "guestagent/protocol/json_text.hpp"

namespace rdmove::protocol {

Payload::Payload() : Payload(nlohmann::json::object()) {}

Payload::Payload(nlohmann::json value) : value_(std::make_shared<const nlohmann::json>(std::move(value))) {}

std::string Payload::text() const {
  return dump(*value_);
}

bool Payload::operator==(const Payload& other) const {
  return *value_ == *other.value_;
}

}  // namespace rdmove::protocol
