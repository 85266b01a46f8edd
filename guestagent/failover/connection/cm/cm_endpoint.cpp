#include "guestagent/failover/connection/cm/cm_endpoint.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "guestagent/failover/connection/cm/call_error.hpp"

namespace rdmove::failover::conn {
namespace {

constexpr std::uint8_t rnr_for_ever = 7;

Result<void> outcome(const char* call, int result) {
  if (result == 0) return {};
  return call_failed(call, errno);
}

rdma_conn_param parameters(const CallWords& words) {
  rdma_conn_param out{};
  out.private_data = words.private_data.data();
  out.private_data_len = static_cast<std::uint8_t>(words.private_data.size());
  out.responder_resources = out.initiator_depth = words.remote_reads;
  out.retry_count = words.retry_count;
  out.rnr_retry_count = rnr_for_ever;
  return out;
}

// librdmacm only reads addresses, but takes them as not const.
sockaddr* writable(const SocketAddress& address) {
  return const_cast<sockaddr*>(address.get());
}

}  // namespace

CmEndpoint::CmEndpoint(rdma_cm_id* id, ContextRegistry& contexts) : id_(id), contexts_(contexts) {
  static std::atomic<std::uintptr_t> last{0};
  id_->context = reinterpret_cast<void*>(++last);
}

// The order that is known to end. All events were acknowledged when they were taken. As it takes one, in the loop's
// thread, librdmacm moves the id's queue pair by itself: by then the queue pair has to be whole, or not the id's.
CmEndpoint::~CmEndpoint() {
  ibv_qp* queue_pair = nullptr;
  {
    const auto quiet = contexts_.between_calls();
    queue_pair = std::exchange(id_->qp, nullptr);
  }
  if (queue_pair) ibv_destroy_qp(queue_pair);
  for (ibv_mr* region : regions_) ibv_dereg_mr(region);
  if (!pieces_.empty()) {
    pieces_.clear();
    device_->chunks().strike_retired();
  }
  if (seat_) device_->completions().leave(std::move(seat_));
  device_.reset();  // the context stays until the id is gone
  rdma_destroy_id(id_);
}

EndpointNumber CmEndpoint::number_of(const rdma_cm_id* id) {
  return EndpointNumber{reinterpret_cast<std::uintptr_t>(id->context)};
}

DeviceNumber CmEndpoint::device() const {
  return DeviceNumber{reinterpret_cast<std::uintptr_t>(id_->verbs)};
}

SocketAddress CmEndpoint::local() const {
  return SocketAddress::from(rdma_get_local_addr(id_));
}

SocketAddress CmEndpoint::peer() const {
  return SocketAddress::from(rdma_get_peer_addr(id_));
}

Result<void> CmEndpoint::bind(const SocketAddress& address) {
  const auto devices = contexts_.meet_devices();
  return outcome("rdma_bind_addr", rdma_bind_addr(id_, writable(address)));
}

Result<void> CmEndpoint::listen(int backlog) {
  const auto devices = contexts_.meet_devices();
  return outcome("rdma_listen", rdma_listen(id_, backlog));
}

Result<void> CmEndpoint::resolve_address(const std::optional<SocketAddress>& from, const SocketAddress& to,
                                         Milliseconds limit) {
  const auto devices = contexts_.meet_devices();
  return outcome("rdma_resolve_addr", rdma_resolve_addr(id_, from ? writable(*from) : nullptr, writable(to),
                                                        static_cast<int>(limit.count())));
}

Result<void> CmEndpoint::resolve_route(Milliseconds limit) {
  if (!id_->verbs) return call_failed("rdma_resolve_route", ENODEV);  // it would crash
  return outcome("rdma_resolve_route", rdma_resolve_route(id_, static_cast<int>(limit.count())));
}

void CmEndpoint::set_ack_timeout(std::uint8_t exponent) {
  rdma_set_option(id_, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &exponent, sizeof exponent);
}

Result<void> CmEndpoint::connect(const CallWords& words) {
  set_ack_timeout(words.ack_timeout);
  auto words_of_cm = parameters(words);
  return outcome("rdma_connect", rdma_connect(id_, &words_of_cm));
}

Result<void> CmEndpoint::accept(const CallWords& words) {
  set_ack_timeout(words.ack_timeout);
  auto words_of_cm = parameters(words);
  return outcome("rdma_accept", rdma_accept(id_, &words_of_cm));
}

void CmEndpoint::reject(std::span<const std::byte> private_data) {
  rdma_reject(id_, private_data.data(), static_cast<std::uint8_t>(private_data.size()));
}

// librdmacm puts the QP into ERR before it asks the kernel, which may refuse (ENXIO) after a removal.
void CmEndpoint::disconnect() {
  if (id_->qp) rdma_disconnect(id_);
}

Result<void> CmEndpoint::make_queue(const std::shared_ptr<Device>& device, const QueueShape& shape) {
  device_ = std::static_pointer_cast<CmDevice>(device);
  const auto depth = shape.send_depth + shape.receive_depth + 1;
  auto seat = device_->completions().reserve(number(), depth);
  if (!seat) return tl::unexpected(seat.error());
  seat_ = std::move(*seat);
  ibv_qp_init_attr attributes{};
  attributes.qp_context = id_->context;
  attributes.send_cq = attributes.recv_cq = seat_->queue();
  attributes.cap = {shape.send_depth + 1, shape.receive_depth, std::max(shape.max_send_sge, 1U),
                    std::max(shape.max_receive_sge, 1U), shape.max_inline};
  attributes.qp_type = IBV_QPT_RC;
  attributes.sq_sig_all = 1;
  auto made = outcome("rdma_create_qp", rdma_create_qp(id_, device_->protection_domain(), &attributes));
  if (made) device_->completions().enrol(seat_, id_->qp->qp_num);
  return made;
}

Result<ibv_mr*> CmEndpoint::register_memory(void* address, std::size_t length, int access) {
  if (!device_) return fail(ErrorCode::NotUp, "ibv_reg_mr: no queue pair");
  ibv_mr* const region = ibv_reg_mr(device_->protection_domain(), address, length, access);
  if (!region) return call_failed("ibv_reg_mr", errno);
  regions_.push_back(region);
  return region;
}

void CmEndpoint::deregister(ibv_mr* region) {
  const auto place = std::find(regions_.begin(), regions_.end(), region);
  if (place == regions_.end()) return;
  regions_.erase(place);
  ibv_dereg_mr(region);
}

// Where a whole chunk is more than may be pinned, the piece alone may still do.
Result<ibv_mr*> CmEndpoint::use_memory(const std::shared_ptr<MemoryPiece>& piece) {
  if (!device_) return fail(ErrorCode::NotUp, "ibv_reg_mr: no queue pair");
  auto region = device_->chunks().of(piece->chunk());
  if (!region) region = register_memory(piece->address(), piece->bytes(), IBV_ACCESS_LOCAL_WRITE);
  if (region) pieces_.push_back(piece);
  return region;
}

void CmEndpoint::shorten_rnr_timer() {
  ibv_qp_attr attributes{};
  attributes.min_rnr_timer = 10;  // 0.32 ms (IBA 9.7.5.2.8)
  ibv_modify_qp(id_->qp, &attributes, IBV_QP_MIN_RNR_TIMER);
}

int CmEndpoint::poll(std::span<ibv_wc> completions) {
  return device_->completions().poll(*seat_, completions);
}

Result<void> CmEndpoint::post_send(ibv_send_wr& first) {
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(id_->qp, &first, &bad); error != 0)
    return call_failed("ibv_post_send", error);
  return {};
}

Result<void> CmEndpoint::post_receive(ibv_recv_wr& first) {
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(id_->qp, &first, &bad); error != 0)
    return call_failed("ibv_post_recv", error);
  return {};
}

}  // namespace rdmove::failover::conn
