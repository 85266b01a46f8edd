// One JSON value inside an envelope: params, result or an error's data. Immutable, cheap to copy, any thread.
// It is here so that headers need only json_fwd.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rdmove::protocol {

class Payload {
 public:
  Payload();  // an empty object
  explicit Payload(nlohmann::json value);

  [[nodiscard]] const nlohmann::json& json() const { return *value_; }
  [[nodiscard]] std::string text() const;  // compact, valid UTF-8 whatever went in

  bool operator==(const Payload& other) const;

 private:
  std::shared_ptr<const nlohmann::json> value_;
};

}  // namespace rdmove::protocol
