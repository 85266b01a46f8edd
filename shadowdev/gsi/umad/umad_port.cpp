#include "shadowdev/gsi/umad/umad_port.hpp"

#include <endian.h>
#include <fmt/format.h>
#include <infiniband/umad.h>

#include <algorithm>
#include <cstring>

#include "shadowdev/gsi/sa.hpp"

namespace rdmove::gsi {
namespace {

constexpr int kQueueKey = static_cast<int>(0x80010000U);  // of every QP1 (10.2.5)

tl::unexpected<Problem> not_open(const std::string& what) {
  return problem(ProblemCode::NotFound,
                 fmt::format("{}: {}. Look at ibstat, and whether this user may open /dev/infiniband/umad*.",
                             what, std::strerror(errno)));
}

}  // namespace

struct UmadPort::Buffer {
  void* umad = umad_alloc(1, umad_size() + Mad::kBytes);
  ~Buffer() { umad_free(umad); }
};

UmadPort::UmadPort(int port, int agent) : port_(port), agent_(agent), buffer_(std::make_unique<Buffer>()) {}

UmadPort::~UmadPort() {
  umad_unregister(port_, agent_);
  umad_close_port(port_);
  umad_done();
}

Result<std::unique_ptr<UmadPort>> UmadPort::open(const std::string& adapter) {
  if (umad_init() < 0) return not_open("user-space MADs are not there");
  const char* name = adapter.empty() ? nullptr : adapter.c_str();
  umad_port_t found{};
  if (umad_get_port(name, 0, &found) < 0) return not_open("no InfiniBand port is active");
  const int port = umad_open_port(found.ca_name, found.portnum);
  const int agent = port < 0 ? -1
                             : umad_register(port, static_cast<int>(ManagementClass::SubnetAdministration),
                                             kSaClassVersion, 0, nullptr);
  if (agent < 0) {
    const auto why =
        not_open(fmt::format("port {} of {} cannot be opened for MADs", found.portnum, found.ca_name));
    if (port >= 0) umad_close_port(port);
    umad_release_port(&found);
    return why;
  }
  auto opened = std::unique_ptr<UmadPort>(new UmadPort(port, agent));
  opened->gid_ = Gid::from(be64toh(found.gid_prefix), be64toh(found.port_guid));
  opened->lid_ = Lid{static_cast<std::uint16_t>(found.base_lid)};
  opened->subnet_manager_ = Lid{static_cast<std::uint16_t>(found.sm_lid)};
  opened->service_level_ = static_cast<std::uint8_t>(found.sm_sl);
  umad_release_port(&found);
  return opened;
}

bool UmadPort::send(const Datagram& datagram, milliseconds timeout) {
  std::memset(buffer_->umad, 0, umad_size() + Mad::kBytes);
  std::memcpy(umad_get_mad(buffer_->umad), datagram.mad.bytes().data(), Mad::kBytes);
  umad_set_addr(buffer_->umad, static_cast<int>(datagram.remote),
                static_cast<int>(datagram.remote_queue_pair), datagram.service_level, kQueueKey);
  umad_set_grh(buffer_->umad, nullptr);
  umad_set_pkey(buffer_->umad, 0);
  return umad_send(port_, agent_, buffer_->umad, Mad::kBytes, static_cast<int>(timeout.count()), 0) == 0;
}

std::optional<Datagram> UmadPort::receive(milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    int length = Mad::kBytes;
    if (umad_recv(port_, buffer_->umad, &length, left > 0 ? static_cast<int>(left) : 0) < 0)
      return std::nullopt;
    if (umad_status(buffer_->umad) != 0) continue;  // a request of ours that timed out comes back
    // A MAD has 256 bytes on every wire; a simulated one ends where its record does.
    std::array<std::byte, Mad::kBytes> bytes{};
    std::memcpy(bytes.data(), umad_get_mad(buffer_->umad),
                std::clamp<std::size_t>(static_cast<std::size_t>(length), 0, Mad::kBytes));
    const auto mad = Mad::from(bytes);
    if (!mad) continue;
    const ib_mad_addr_t* from = umad_get_mad_addr(buffer_->umad);
    Datagram datagram;
    datagram.mad = *mad;
    datagram.remote = Lid{be16toh(from->lid)};
    datagram.remote_queue_pair = QueuePairNumber{be32toh(from->qpn)};
    datagram.service_level = from->sl;
    return datagram;
  }
}

}  // namespace rdmove::gsi
