#include "guestagent/agent/netlink_socket.hpp"

#include <netlink/msg.h>
#include <netlink/socket.h>
#include <spdlog/fmt/fmt.h>

#include <stdexcept>

namespace rdmove::agent {
namespace {

// libnl folds errnos into fewer codes of its own; the caller wants to tell ENODEV from EINVAL.
struct Exchange {
  const NetlinkSocket::OnMessage* on_message = nullptr;
  int error = 0;
  bool finished = false;
};

int on_valid(nl_msg* message, void* context) {
  const auto* exchange = static_cast<Exchange*>(context);
  if (exchange->on_message != nullptr) (*exchange->on_message)(*nlmsg_hdr(message));
  return NL_OK;
}

int on_end(nl_msg*, void* context) {
  static_cast<Exchange*>(context)->finished = true;
  return NL_STOP;
}

int on_error(sockaddr_nl*, nlmsgerr* error, void* context) {
  auto* exchange = static_cast<Exchange*>(context);
  exchange->error = -error->error;
  exchange->finished = true;
  return NL_STOP;
}

}  // namespace

NetlinkSocket::NetlinkSocket(int protocol) : socket_(nl_socket_alloc(), &nl_socket_free) {
  if (!socket_) throw std::bad_alloc();
  if (const int error = nl_connect(socket_.get(), protocol); error < 0) {
    throw std::runtime_error(fmt::format("netlink protocol {}: {}", protocol, nl_geterror(error)));
  }
}

int NetlinkSocket::receive(const OnMessage* on_message) {
  Exchange exchange{on_message};
  std::unique_ptr<nl_cb, decltype(&nl_cb_put)> callbacks(nl_cb_alloc(NL_CB_DEFAULT), &nl_cb_put);
  nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, on_valid, &exchange);
  nl_cb_set(callbacks.get(), NL_CB_ACK, NL_CB_CUSTOM, on_end, &exchange);
  nl_cb_set(callbacks.get(), NL_CB_FINISH, NL_CB_CUSTOM, on_end, &exchange);
  nl_cb_err(callbacks.get(), NL_CB_CUSTOM, on_error, &exchange);
  while (!exchange.finished) {
    const int result = nl_recvmsgs(socket_.get(), callbacks.get());
    if (exchange.finished) break;
    if (result == -NLE_DUMP_INTR) return EAGAIN;
    if (result < 0) return EIO;
  }
  return exchange.error;
}

int NetlinkSocket::dump(int type, const Bytes& header, const OnMessage& on_message) {
  Bytes copy = header;
  const int sent =
      nl_send_simple(socket_.get(), type, NLM_F_DUMP, copy.empty() ? nullptr : copy.data(), copy.size());
  if (sent < 0) return EIO;
  return receive(&on_message);
}

int NetlinkSocket::get(nl_msg* message, const OnMessage& on_message) {
  return ask(message, &on_message);
}

int NetlinkSocket::send(nl_msg* message) {
  return ask(message, nullptr);
}

int NetlinkSocket::ask(nl_msg* message, const OnMessage* on_message) {
  std::unique_ptr<nl_msg, decltype(&nlmsg_free)> owned(message, &nlmsg_free);
  nlmsg_hdr(message)->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
  if (nl_send_auto(socket_.get(), message) < 0) return EIO;
  return receive(on_message);
}

Bytes payload_of(const nlmsghdr& message) {
  const auto* data = static_cast<const std::uint8_t*>(nlmsg_data(&message));
  return {data, data + nlmsg_datalen(&message)};
}

}  // namespace rdmove::agent
