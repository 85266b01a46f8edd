#include "guestagent/failover/c/handles.hpp"

using namespace rdmove::failover;
using namespace rdmove::failover::c;

struct rdmove_listener final : ListenerHandler, Held {
  rdmove_listener(rdmove_loop& of, rdmove_requested told, void* theirs)
      : loop(of), told_(told), user_(theirs) {
    loop.held.insert(this);
  }
  ~rdmove_listener() override {
    drop();
    loop.held.erase(this);
  }
  void drop() override { listener.reset(); }

  void requested(ConnectionRequest& request) override {
    rdmove_request handle{request, loop};
    told_(&handle, user_);
  }

  rdmove_loop& loop;
  std::unique_ptr<Listener> listener;

 private:
  const rdmove_requested told_;
  void* const user_;
};

int rdmove_listen(rdmove_loop* loop, const sockaddr* address, rdmove_address_policy policy,
                  rdmove_requested requested, void* user, rdmove_listener** listener) {
  if (loop == nullptr || address == nullptr || requested == nullptr || listener == nullptr)
    return invalid(
        "rdmove_listen: loop, address, callback and the pointer for the listener must not be NULL");
  return on_loop(*loop, [&] {
    auto handle = std::make_unique<rdmove_listener>(*loop, requested, user);
    auto made = Listener::listen(*loop->loop, SocketAddress::from(address), *handle,
                                 static_cast<AddressPolicy>(policy));
    if (!made) return failed(made.error());
    handle->listener = std::move(*made);
    *listener = handle.release();
    return 0;
  });
}

void rdmove_listener_destroy(rdmove_listener* listener) {
  destroy(listener);
}

int rdmove_listener_port(rdmove_listener* listener) {
  return on_loop(listener->loop, [&] {
    if (!listener->listener) return failed(ErrorCode::Gone, "the loop has ended");
    return static_cast<int>(listener->listener->address().port());
  });
}

int rdmove_listener_is_listening(rdmove_listener* listener) {
  return on_loop(listener->loop, [&] {
    if (!listener->listener) return failed(ErrorCode::Gone, "the loop has ended");
    return listener->listener->is_listening() ? 1 : 0;
  });
}

size_t rdmove_request_private_data(rdmove_request* request, void* buffer, size_t length) {
  return copy_out(request->request.private_data(), buffer, length);
}

int rdmove_request_peer(rdmove_request* request, sockaddr_storage* address) {
  return address_out(request->request.peer(), address);
}
