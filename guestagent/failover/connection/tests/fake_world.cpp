#include "guestagent/failover/connection/tests/fake_world.hpp"

#include <algorithm>
#include <utility>

namespace rdmove::failover::conn::fake {
namespace {

constexpr std::size_t request_data = 56;  // as RDMA CM pads them
constexpr std::size_t answer_data = 196;
constexpr std::size_t refusal_data = 148;

std::vector<std::byte> padded(std::span<const std::byte> data, std::size_t size) {
  std::vector<std::byte> out(data.begin(), data.end());
  out.resize(size);
  return out;
}

CmEvent event_for(CmEventKind kind, EndpointNumber endpoint, int status = 0) {
  CmEvent event;
  event.kind = kind;
  event.endpoint = endpoint;
  event.status = status;
  return event;
}

std::string host(const SocketAddress& address) {
  const auto text = address.text();
  return text.substr(0, text.rfind(':'));
}

bool is_wildcard(const SocketAddress& address) {
  return host(address) == "[::]" || host(address) == "0.0.0.0";
}

}  // namespace

FakeDevice::FakeDevice(FakePort& port, DeviceNumber number) : port_(port), number_(number) {
  ++port_.live_devices;
}

FakeDevice::~FakeDevice() {
  --port_.live_devices;
  if (!users.empty()) port_.fabric.faults.emplace_back("a device was closed under its queue pairs");
}

FakeEndpoint* Fabric::find(EndpointNumber number) const {
  const auto place = endpoints.find(number);
  return place == endpoints.end() ? nullptr : place->second;
}

FakePort::FakePort(Fabric& the_fabric, const std::string& its_address)
    : fabric(the_fabric), address(its_address) {
  fabric.machines[address] = this;
}
FakePort::~FakePort() {
  fabric.machines.erase(address);
}

Result<void> FakePort::open() {
  return has_device() ? Result<void>() : fail(ErrorCode::NoDevice, "no device");
}

std::optional<CmEvent> FakePort::take_event() {
  if (events_.empty()) {
    file_.clear();
    return std::nullopt;
  }
  CmEvent event = std::move(events_.front());
  events_.pop_front();
  // An id learns of its device when its event is taken.
  if (event.kind == CmEventKind::AddressResolved)
    if (auto* endpoint = fabric.find(event.endpoint)) {
      if (!has_device()) return event_for(CmEventKind::Failed, event.endpoint, -19);
      endpoint->on = device;
    }
  return event;
}

void FakePort::push(CmEvent event) {
  events_.push_back(std::move(event));
  file_.set();
}

// The kernel drops the events of an id that is destroyed.
void FakePort::forget(EndpointNumber number) {
  std::erase_if(events_, [number](const CmEvent& event) {
    return event.endpoint == number && event.kind != CmEventKind::ConnectRequest;
  });
}

Result<std::unique_ptr<Endpoint>> FakePort::make_endpoint() {
  return std::make_unique<FakeEndpoint>(*this, EndpointNumber{++fabric.last_number});
}

Result<std::shared_ptr<Device>> FakePort::open_device(const Endpoint& on_it) {
  if (on_it.device() == DeviceNumber::none) return fail(ErrorCode::NoDevice, "no device");
  auto opened = std::make_shared<FakeDevice>(*this, on_it.device());
  open_devices = opened;
  return opened;
}

void FakePort::release(DeviceNumber number) {
  const auto held = holds.find(number);
  if (held == holds.end())
    return fabric.faults.emplace_back("a device was let go of that nobody holds"), void();
  for (const auto& [name, endpoint] : fabric.endpoints)
    if (&endpoint->port == this && endpoint->on == number)
      fabric.faults.emplace_back("a device was let go of under an endpoint");
  if (--held->second == 0) holds.erase(held);
}

void FakePort::remove_device() {
  const auto leaving = std::exchange(device, DeviceNumber::none);
  if (leaving == DeviceNumber::none) return;
  for (const auto& [number, endpoint] : fabric.endpoints)
    if (&endpoint->port == this && endpoint->on == leaving)
      push(event_for(CmEventKind::DeviceRemoval, number));
}

void FakePort::add_device() {
  if (!has_device()) device = DeviceNumber{++fabric.last_number};
}

void FakePort::fail_device() {
  if (const auto open = open_devices.lock()) open->raise({AsyncKind::DeviceFatal, EndpointNumber::none});
}

void FakePort::break_queue(bool as_async_event) {
  for (const auto& [number, endpoint] : fabric.endpoints) {
    if (&endpoint->port != this || !endpoint->connected || endpoint->broken) continue;
    endpoint->broken = true;
    if (as_async_event)
      endpoint->queue_->device->raise({AsyncKind::QueueFatal, number});
    else
      endpoint->complete(1, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
    return;
  }
}

void FakePort::disconnect_some() {
  for (const auto& [number, endpoint] : fabric.endpoints)
    if (&endpoint->port == this && endpoint->connected)
      return push(event_for(CmEventKind::Disconnected, number));
}

FakeEndpoint::~FakeEndpoint() {
  port.forget(number_);
  if (auto* other = partner(); other && other->connected && is_on_live_device() && other->is_on_live_device())
    other->port.push(event_for(CmEventKind::Disconnected, other->number_));
  if (queue_) queue_->device->users.erase(number_);
  port.fabric.endpoints.erase(number_);
}

Result<void> FakeEndpoint::bind(const SocketAddress& address) {
  local_ = address.port() == 0
               ? address.with_port(static_cast<std::uint16_t>(10000 + ++port.fabric.last_number % 50000))
               : address;
  if (is_wildcard(address)) return {};
  if (!port.has_device() || host(address) != port.address)
    return fail(ErrorCode::AddressNotAvailable, "the address is not here");
  on = port.device;
  return {};
}

Result<void> FakeEndpoint::listen(int) {
  listening = true;
  return {};
}

Result<void> FakeEndpoint::resolve_address(const std::optional<SocketAddress>& from, const SocketAddress& to,
                                           Milliseconds) {
  if (!port.has_device()) return fail(ErrorCode::AddressNotAvailable, "no way");
  local_ = from.value_or(*SocketAddress::parse(port.address, 0));
  peer_ = to;
  port.push(event_for(CmEventKind::AddressResolved, number_));
  return {};
}

Result<void> FakeEndpoint::resolve_route(Milliseconds) {
  if (!is_on_live_device()) return fail(ErrorCode::NoDevice, "no device");
  port.push(event_for(CmEventKind::RouteResolved, number_));
  return {};
}

Result<void> FakeEndpoint::connect(const CallWords& words) {
  if (!is_on_live_device()) return fail(ErrorCode::NoDevice, "no device");
  ++port.calls;
  port.fabric.last_request = padded(words.private_data, request_data);
  if (port.fabric.reject_stale > 0) {
    --port.fabric.reject_stale;
    port.push(event_for(CmEventKind::Rejected, number_, 10));
    return {};
  }
  if (port.fabric.lose_requests > 0) return --port.fabric.lose_requests, Result<void>();
  const auto machine = port.fabric.machines.find(host(peer_));
  if (machine == port.fabric.machines.end() || !machine->second->has_device()) return {};  // lost on the way
  FakePort& there = *machine->second;
  for (const auto& [number, endpoint] : port.fabric.endpoints) {
    if (&endpoint->port != &there || !endpoint->listening || endpoint->local_.port() != peer_.port())
      continue;
    if (!is_wildcard(endpoint->local_) && !endpoint->is_on_live_device()) continue;
    auto incoming = std::make_unique<FakeEndpoint>(there, EndpointNumber{++port.fabric.last_number});
    incoming->on = there.device;
    incoming->local_ = peer_;
    incoming->peer_ = SocketAddress::parse(port.address, 999).value();
    incoming->partner_ = number_;
    partner_ = incoming->number_;
    auto event = event_for(CmEventKind::ConnectRequest, number);
    event.private_data = padded(words.private_data, request_data);
    event.remote_reads = words.remote_reads;
    event.incoming = std::move(incoming);
    there.push(std::move(event));
    return {};
  }
  port.push(event_for(CmEventKind::Rejected, number_, 8));
  return {};
}

Result<void> FakeEndpoint::accept(const CallWords& words) {
  auto* caller = partner();
  if (!is_on_live_device()) return fail(ErrorCode::NoDevice, "no device");
  if (!caller || !caller->is_on_live_device()) return {};  // nobody hears it
  if (port.fabric.lose_answers > 0) return --port.fabric.lose_answers, Result<void>();
  connected = caller->connected = true;
  auto event = event_for(CmEventKind::Established, caller->number_);
  event.private_data = padded(words.private_data, answer_data);
  caller->port.push(std::move(event));
  const auto tell = [ours = &port, number = number_] {
    ours->push(event_for(CmEventKind::Established, number));
  };
  if (port.fabric.keep_established)
    port.fabric.kept_established.emplace_back(tell);
  else
    tell();
  return {};
}

void FakeEndpoint::reject(std::span<const std::byte> private_data) {
  auto* caller = partner();
  if (!caller || !is_on_live_device()) return;
  auto event = event_for(CmEventKind::Rejected, caller->number_, 28);
  event.private_data = padded(private_data, refusal_data);
  caller->port.push(std::move(event));
  partner_ = EndpointNumber::none;
}

void FakeEndpoint::disconnect() {
  broken = true;
  if (!std::exchange(connected, false) || !is_on_live_device()) return;
  port.push(event_for(CmEventKind::Disconnected, number_));
  if (auto* other = partner(); other && other->is_on_live_device())
    other->port.push(event_for(CmEventKind::Disconnected, other->number_));
}

Result<void> FakeEndpoint::make_queue(const std::shared_ptr<Device>& device, const QueueShape&) {
  if (!is_on_live_device()) return fail(ErrorCode::NoDevice, "no device");
  queue_ = std::make_unique<Queue>();
  queue_->device = std::static_pointer_cast<FakeDevice>(device);
  queue_->device->users.insert(number_);
  return {};
}

Result<ibv_mr*> FakeEndpoint::register_memory(void* memory, std::size_t length, int access) {
  auto made = std::make_unique<Registered>();
  made->region.addr = memory;
  made->region.length = length;
  made->region.lkey = made->region.rkey = static_cast<std::uint32_t>(++port.fabric.last_number);
  made->access = access;
  regions_.push_back(std::move(made));
  return &regions_.back()->region;
}

void FakeEndpoint::deregister(ibv_mr* region) {
  std::erase_if(regions_, [region](const auto& one) { return &one->region == region; });
}

std::byte* FakeEndpoint::reached_by(const ibv_send_wr& request, std::size_t length, int right) const {
  for (const auto& one : regions_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(one->region.addr);
    const auto wanted = request.wr.rdma.remote_addr;
    if (one->region.rkey == request.wr.rdma.rkey && (one->access & right) != 0 && wanted >= begin &&
        wanted + length <= begin + one->region.length)
      return reinterpret_cast<std::byte*>(wanted);
  }
  return nullptr;
}

Result<ibv_mr*> FakeEndpoint::use_memory(const std::shared_ptr<MemoryPiece>& piece) {
  pieces_.push_back(piece);
  return register_memory(piece->address(), piece->bytes(), IBV_ACCESS_LOCAL_WRITE);
}

void FakeEndpoint::complete(std::uint64_t id, ibv_wc_status status, ibv_wc_opcode opcode,
                            std::uint32_t bytes) {
  ibv_wc completion{};
  completion.wr_id = id;
  completion.status = status;
  completion.opcode = opcode;
  completion.byte_len = bytes;
  queue_->completions.push_back(completion);
  queue_->device->complete(number_);
}

int FakeEndpoint::poll(std::span<ibv_wc> completions) {
  std::size_t count = 0;
  for (; count < completions.size() && !queue_->completions.empty(); ++count) {
    completions[count] = queue_->completions.front();
    queue_->completions.pop_front();
  }
  return static_cast<int>(count);
}

Result<void> FakeEndpoint::post_send(ibv_send_wr& first) {
  auto* other = partner();
  const bool arrives = !broken && other && other->queue_ && !other->broken && is_on_live_device() &&
                       other->is_on_live_device();
  const auto opcode = first.opcode == IBV_WR_RDMA_WRITE  ? IBV_WC_RDMA_WRITE
                      : first.opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
                                                         : IBV_WC_SEND;
  if (!arrives) {
    complete(first.wr_id, IBV_WC_RETRY_EXC_ERR, opcode);
    return {};
  }
  const ibv_sge part = first.num_sge == 1 ? *first.sg_list : ibv_sge{};
  auto* const ours = reinterpret_cast<std::byte*>(part.addr);
  if (opcode == IBV_WC_SEND) {
    if (other->queue_->receives.empty()) return {};  // not ready: for ever
    const auto receive = other->queue_->receives.front();
    other->queue_->receives.pop_front();
    if (part.length != 0 && receive.part.length >= part.length)
      std::copy_n(ours, part.length, reinterpret_cast<std::byte*>(receive.part.addr));
    other->complete(receive.id, IBV_WC_SUCCESS, IBV_WC_RECV, part.length);
  } else if (part.length != 0) {
    const bool is_write = opcode == IBV_WC_RDMA_WRITE;
    auto* const theirs =
        other->reached_by(first, part.length, is_write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ);
    if (!theirs) {
      broken = true;
      complete(first.wr_id, IBV_WC_REM_ACCESS_ERR, opcode);
      return {};
    }
    port.fabric.writes += is_write ? 1 : 0;
    std::copy_n(is_write ? ours : theirs, part.length, is_write ? theirs : ours);
  }
  if (port.fabric.lose_words > 0) return --port.fabric.lose_words, Result<void>();
  complete(first.wr_id, IBV_WC_SUCCESS, opcode);
  return {};
}

Result<void> FakeEndpoint::post_receive(ibv_recv_wr& first) {
  queue_->receives.push_back({first.wr_id, first.num_sge == 1 ? *first.sg_list : ibv_sge{}});
  return {};
}

void ManualReaper::destroy(std::unique_ptr<Endpoint> endpoint, Done done) {
  work_.emplace_back(
      [held = std::make_shared<std::unique_ptr<Endpoint>>(std::move(endpoint)), done = std::move(done)] {
        held->reset();
        if (done) done();
      });
}

void ManualReaper::close(std::shared_ptr<Device> device, std::vector<std::unique_ptr<Endpoint>> pins,
                         Done done) {
  work_.emplace_back([device = std::make_shared<std::shared_ptr<Device>>(std::move(device)),
                      pins = std::make_shared<std::vector<std::unique_ptr<Endpoint>>>(std::move(pins)),
                      done = std::move(done)] {
    device->reset();
    pins->clear();
    if (done) done();
  });
}

void ManualReaper::run_one(std::size_t which) {
  if (work_.empty()) return;
  const auto place = work_.begin() + static_cast<std::ptrdiff_t>(which % work_.size());
  const auto work = std::move(*place);
  work_.erase(place);
  work();
}

void ManualReaper::run_all() {
  while (!work_.empty()) run_one(0);
}

}  // namespace rdmove::failover::conn::fake
