#include "guestagent/failover/connection/device_table.hpp"

#include <utility>

#include "guestagent/failover/connection/hub.hpp"

namespace rdmove::failover::conn {

class DeviceTable::Canary : public EndpointOwner {
 public:
  Canary(DeviceTable& table, DeviceNumber device) : table_(table), device_(device) {}
  void cm_event(CmEvent& event) override {
    if (event.kind == CmEventKind::DeviceRemoval) table_.removed(device_);
  }
  std::unique_ptr<Endpoint> endpoint;

 private:
  DeviceTable& table_;
  const DeviceNumber device_;
};

struct DeviceTable::Record {
  std::shared_ptr<Device> device;  // none after release_all(), or if nobody needed one
  std::set<EndpointNumber> residents;
  std::map<std::string, std::unique_ptr<Canary>> canaries;  // by local address
  SocketAddress last_watched;                               // by one of them
  Poller::Watch completions = Poller::Watch::none;
  Poller::Watch async_events = Poller::Watch::none;
  unsigned closing = 0;  // with the reaper
  bool has_left = false;
  bool releasing = false;
};

DeviceTable::DeviceTable(Hub& hub, Poller& poller) : hub_(hub), poller_(poller) {}
DeviceTable::~DeviceTable() = default;

Result<std::shared_ptr<Device>> DeviceTable::device_for(const Endpoint& endpoint) {
  const auto number = endpoint.device();
  Record* const record = &record_of(number);
  if (record->has_left) return fail(ErrorCode::NoDevice, "the device has left");
  if (!record->device) {
    auto device = hub_.port().open_device(endpoint);
    if (!device) return device;
    record->device = *device;
    record->releasing = false;
    record->completions =
        poller_.add((*device)->completion_fd(), [this, number] { take_completions(number); });
    record->async_events = poller_.add((*device)->async_fd(), [this, number] { take_async_events(number); });
  }
  set_canary(*record, number, endpoint.local().with_port(0));
  return record->device;
}

void DeviceTable::set_canary(Record& record, DeviceNumber number, const SocketAddress& address) {
  if (record.last_watched == address || record.canaries.contains(address.text())) return;
  auto canary = std::make_unique<Canary>(*this, number);
  auto made = hub_.make_endpoint(*canary);
  if (!made) return;
  if (!(*made)->bind(address) || (*made)->device() != number) return hub_.retire(std::move(*made));
  canary->endpoint = std::move(*made);
  record.canaries.emplace(address.text(), std::move(canary));
  record.last_watched = address;
}

void DeviceTable::came(DeviceNumber device, EndpointNumber endpoint) {
  if (device == DeviceNumber::none) return;
  record_of(device).residents.insert(endpoint);
}

DeviceTable::Record& DeviceTable::record_of(DeviceNumber number) {
  auto& record = records_[number];
  if (record) return *record;
  record = std::make_unique<Record>();
  if (number != DeviceNumber::none) hub_.port().hold(number);
  return *record;
}

/// Nothing of ours is there, and nobody would tell us that it leaves: other loops are not to wait for us.
void DeviceTable::forget_if_unused(DeviceNumber number) {
  const auto place = records_.find(number);
  if (place == records_.end()) return;
  const Record& record = *place->second;
  if (record.device || !record.residents.empty() || !record.canaries.empty() || record.closing != 0) return;
  records_.erase(place);
  if (number != DeviceNumber::none) hub_.port().release(number);
}

void DeviceTable::went(DeviceNumber device, EndpointNumber endpoint) {
  const auto record = records_.find(device);
  if (record == records_.end()) return;
  record->second->residents.erase(endpoint);
  close_if_unused(device);
}

void DeviceTable::removed(DeviceNumber device) {
  const auto record = records_.find(device);
  if (record == records_.end() || std::exchange(record->second->has_left, true)) return;
  hub_.device_left(device);
  close_if_unused(device);
}

void DeviceTable::close_if_unused(DeviceNumber number) {
  const auto place = records_.find(number);
  if (place == records_.end()) return;
  Record& record = *place->second;
  if (!record.residents.empty()) return;
  // Without a canary nobody would tell that it leaves: a device that left just while a call came in.
  const bool unwatched = record.canaries.empty();
  if (!record.has_left && !(record.device && (record.releasing || unwatched)))
    return forget_if_unused(number);
  poller_.remove(record.completions);  // before librdmacm closes what they watch
  poller_.remove(record.async_events);
  std::vector<std::unique_ptr<Endpoint>> pins;
  if (record.has_left) {
    for (auto& [address, canary] : record.canaries) pins.push_back(hub_.disown(std::move(canary->endpoint)));
  }
  ++closing_;
  ++record.closing;
  hub_.reaper().close(std::move(record.device), std::move(pins),
                      [this, number, has_left = record.has_left, unwatched] {
                        --closing_;
                        if (has_left)
                          hub_.let_go_of(number);
                        else
                          closed(number, unwatched);
                        check_released();
                      });
  record.device.reset();
  if (record.has_left) records_.erase(place);
}

// It may have left meanwhile: then it is gone from the book, and let go of when all that is closed is.
void DeviceTable::closed(DeviceNumber number, bool was_unwatched) {
  if (was_unwatched) hub_.let_go();
  const auto place = records_.find(number);
  if (place == records_.end()) return;
  --place->second->closing;
  forget_if_unused(number);
}

void DeviceTable::release_all(std::function<void()> done) {
  released_ = std::move(done);
  std::vector<DeviceNumber> numbers;
  for (const auto& [number, record] : records_) numbers.push_back(number);
  for (const auto number : numbers) {
    records_.at(number)->releasing = true;
    close_if_unused(number);
  }
  check_released();
}

void DeviceTable::stop_releasing() {
  released_ = nullptr;
  for (const auto& [number, record] : records_) record->releasing = false;
}

void DeviceTable::end() {
  stop_releasing();
  for (auto& [number, record] : std::exchange(records_, {})) {
    poller_.remove(record->completions);
    poller_.remove(record->async_events);
    std::vector<std::unique_ptr<Endpoint>> pins;
    for (auto& [address, canary] : record->canaries) pins.push_back(hub_.disown(std::move(canary->endpoint)));
    hub_.reaper().close(std::move(record->device), std::move(pins), {});
  }
}

void DeviceTable::check_released() {
  if (!released_ || closing_ != 0) return;
  for (const auto& [number, record] : records_)
    if (record->device || !record->residents.empty()) return;
  std::exchange(released_, nullptr)();
}

void DeviceTable::take_completions(DeviceNumber number) {
  const auto record = records_.find(number);
  if (record == records_.end() || !record->second->device) return;
  const auto device = record->second->device;
  std::vector<EndpointNumber> ready;
  while (const auto endpoint = device->take_completion_event()) ready.push_back(*endpoint);
  for (const auto endpoint : ready)
    if (auto* owner = hub_.owner_of(endpoint)) owner->completion_event();
}

void DeviceTable::take_async_events(DeviceNumber number) {
  const auto record = records_.find(number);
  if (record == records_.end() || !record->second->device) return;
  const auto device = record->second->device;
  while (const auto event = device->take_async_event()) {
    if (event->kind == AsyncKind::DeviceFatal) hub_.device_failed(number);
    if (event->kind != AsyncKind::QueueFatal) continue;
    if (auto* owner = hub_.owner_of(event->endpoint)) owner->queue_failed();
  }
}

}  // namespace rdmove::failover::conn
