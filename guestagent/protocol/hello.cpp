#include "guestagent/protocol/hello.hpp"

#include "guestagent/protocol/field_reader.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol {
namespace {

// The version is judged first: the other fields of another version may be anything.
Result<int> read_version(const Payload& payload) {
  FieldReader in(payload.json());
  int version = 0;
  in.integer<int>("version", version, 1);
  auto read = in.finish(version);
  if (read && *read != protocol_version) {
    return fail(ErrorCode::VersionMismatch,
                "version: the other side speaks version " + std::to_string(version) + ", this side only " +
                    std::to_string(protocol_version) + "; install the same rdmove release on host and guest",
                Payload(nlohmann::json{{"version", protocol_version}}));
  }
  return read;
}

}  // namespace

Payload HelloRequest::to_payload() const {
  return Payload({{"version", version}, {"software", software}, {"host", host}});
}

Result<HelloRequest> HelloRequest::from_payload(const Payload& payload) {
  HelloRequest out;
  if (auto version = read_version(payload); !version) return tl::unexpected(version.error());
  FieldReader in(payload.json());
  in.text("software", out.software, limits::name_bytes);
  in.text("host", out.host, limits::name_bytes);
  return in.finish(std::move(out));
}

Payload HelloAnswer::to_payload() const {
  return Payload(
      {{"version", version}, {"software", software}, {"boot_id", boot_id}, {"instance", instance}});
}

Result<HelloAnswer> HelloAnswer::from_payload(const Payload& payload) {
  HelloAnswer out;
  if (auto version = read_version(payload); !version) return tl::unexpected(version.error());
  FieldReader in(payload.json());
  in.text("software", out.software, limits::name_bytes);
  in.text("boot_id", out.boot_id, limits::name_bytes);
  in.text("instance", out.instance, limits::name_bytes);
  return in.finish(std::move(out));
}

}  // namespace rdmove::protocol
