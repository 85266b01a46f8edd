#include "guestagent/protocol/events.hpp"

#include "guestagent/protocol/move_parts.hpp"

namespace rdmove::protocol {
namespace {

template <class Event>
Payload device_payload(const Event& event) {
  return Payload({{parts::identity_key(event.identity), to_text(event.identity)}, {"netdev", event.netdev}});
}

template <class Event>
Result<Event> device_event(const Payload& payload) {
  Event out;
  FieldReader in(payload.json());
  in.identity(out.identity);
  in.text("netdev", out.netdev, limits::netdev_bytes);
  return in.finish(std::move(out));
}

}  // namespace

Payload DeviceRemoved::to_payload() const {
  return device_payload(*this);
}
Result<DeviceRemoved> DeviceRemoved::from_payload(const Payload& payload) {
  return device_event<DeviceRemoved>(payload);
}
Payload DeviceArrived::to_payload() const {
  return device_payload(*this);
}
Result<DeviceArrived> DeviceArrived::from_payload(const Payload& payload) {
  return device_event<DeviceArrived>(payload);
}

Payload Ready::to_payload() const {
  return Payload({{"migration", migration.text()}, {"devices", parts::list_json(devices)}});
}

Result<Ready> Ready::from_payload(const Payload& payload) {
  Ready out;
  FieldReader in(payload.json());
  in.migration("migration", out.migration);
  in.list("devices", out.devices, limits::devices, parts::read_restored);
  return in.finish(std::move(out));
}

}  // namespace rdmove::protocol
