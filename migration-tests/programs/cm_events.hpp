// RDMA CM events, taken and acknowledged in one step: destroying an id waits for ever for an event of it that
// is not acknowledged, so nobody here ever holds one.
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

namespace beat {

template <class T>
using Result = tl::expected<T, std::string>;

struct CmEvent {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  std::vector<std::uint8_t> private_data;

  std::string describe() const;
};

struct DestroyChannel {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
struct DestroyId {
  void operator()(rdma_cm_id* id) const { rdma_destroy_id(id); }
};
using Channel = std::unique_ptr<rdma_event_channel, DestroyChannel>;
using Id = std::unique_ptr<rdma_cm_id, DestroyId>;

/// Non-blocking. Fails with ENODEV's text while the machine has no RDMA device.
Result<Channel> make_channel();
Result<Id> make_id(const Channel& channel);

/// The next event, if there is one.
std::optional<CmEvent> take_event(const Channel& channel);

/// After the last id and object on a device is gone: librdmacm itself keeps the device's context open, and
/// the device cannot leave, until the list of devices is read again. Works only if another RDMA device
/// exists.
void let_go_of_devices();

std::string last_error(const char* call);

}  // namespace beat
