#include "guestagent/agent/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netpacket/packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace rdmove::agent {
namespace {

// sockaddr_ll has room for 8 bytes; the kernel takes a longer one (packet(7), and what arping does on IPoIB).
constexpr std::size_t longest_address = 32;
using Address = std::array<std::uint8_t, offsetof(sockaddr_ll, sll_addr) + longest_address>;

}  // namespace

PacketSocket::PacketSocket(std::uint16_t ether_type)
    : ether_type_(ether_type), fd_(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}

PacketSocket::~PacketSocket() {
  if (fd_ >= 0) ::close(fd_);
}

bool PacketSocket::receive_udp(int index, std::uint16_t port) {
  constexpr std::uint32_t udp = 17;
  constexpr std::uint32_t fragment = 0x1fff;
  std::array<sock_filter, 9> program{{
      {BPF_LD | BPF_B | BPF_ABS, 0, 0, 9},     // protocol
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 5, udp},  //
      {BPF_LD | BPF_H | BPF_ABS, 0, 0, 6},     // a later fragment has no ports
      {BPF_JMP | BPF_JSET | BPF_K, 3, 0, fragment},
      {BPF_LDX | BPF_B | BPF_MSH, 0, 0, 0},     // length of the IP header
      {BPF_LD | BPF_H | BPF_IND, 0, 0, 2},      // destination port
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, port},  //
      {BPF_RET | BPF_K, 0, 0, 0},               // not ours
      {BPF_RET | BPF_K, 0, 0, 0xffff},          // ours, whole
  }};
  const sock_fprog filter{program.size(), program.data()};
  if (::setsockopt(fd_, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) return false;
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ether_type_);
  at.sll_ifindex = index;
  return ::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
}

bool PacketSocket::send(int index, const Bytes& to, const Bytes& packet) {
  if (to.size() > longest_address) {
    errno = EINVAL;
    return false;
  }
  sockaddr_ll head{};
  head.sll_family = AF_PACKET;
  head.sll_protocol = htons(ether_type_);
  head.sll_ifindex = index;
  head.sll_halen = static_cast<unsigned char>(to.size());
  alignas(sockaddr_ll) Address address{};
  std::memcpy(address.data(), &head, offsetof(sockaddr_ll, sll_addr));
  if (!to.empty()) std::memcpy(address.data() + offsetof(sockaddr_ll, sll_addr), to.data(), to.size());
  return ::sendto(fd_, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(address.data()),
                  address.size()) >= 0;
}

std::optional<Bytes> PacketSocket::receive() {
  Bytes out(2048);  // more than any DHCP answer that we have allowed; the rest of a longer packet is cut
  const auto size = ::recv(fd_, out.data(), out.size(), 0);
  if (size < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(size));
  return out;
}

Bytes broadcast_of(const RestoredLink& link) {
  return link.broadcast.empty() ? Bytes(link.address.size(), 0xff) : link.broadcast;
}

}  // namespace rdmove::agent
