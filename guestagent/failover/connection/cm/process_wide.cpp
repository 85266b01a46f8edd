#include "guestagent/failover/connection/cm/process_wide.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <memory>
#include <string_view>

namespace rdmove::failover::conn {
namespace {

bool look_at_devices() {
  int count = 0;
  ibv_context** const devices = rdma_get_devices(&count);
  if (devices) rdma_free_devices(devices);
  return devices != nullptr;
}

// It makes an ibv_device for each that is new, and librdmacm gets these very ones.
void meet_devices() {
  if (ibv_device** const devices = ibv_get_device_list(nullptr)) ibv_free_device_list(devices);
}

/// The folder stays open, since this is asked for each event; an empty one may be that of a module that was
/// unloaded. One thread at a time.
class DeviceListing {
 public:
  // The names alone do not do: a device that returns often has the name of the one that has left.
  std::uint64_t operator()() {
    std::uint64_t listing = 0;
    std::size_t count = 0;
    if (folder_)
      rewinddir(folder_.get());
    else
      folder_.reset(opendir("/sys/class/infiniband_verbs"));
    while (const dirent* const entry = folder_ ? readdir(folder_.get()) : nullptr) {
      if (entry->d_name[0] == '.') continue;
      ++count;
      listing += (std::hash<std::string_view>{}(entry->d_name) ^ entry->d_ino) * 0x9e3779b97f4a7c15U;
    }
    if (count == 0) folder_.reset();
    return listing;
  }

 private:
  struct Close {
    void operator()(DIR* folder) const { closedir(folder); }
  };
  std::unique_ptr<DIR, Close> folder_;
};

void replace_files(const ibv_context* context) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  dup3(nothing, context->cmd_fd, O_CLOEXEC);
  dup3(nothing, context->async_fd, O_CLOEXEC);
  close(nothing);
}

std::optional<AsyncRouter::Event> take_event(ibv_context* context) {
  ibv_async_event raw{};
  if (ibv_get_async_event(context, &raw) != 0) return std::nullopt;
  AsyncRouter::Event event;
  event.type = raw.event_type;
  switch (raw.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      event.endpoint = EndpointNumber{reinterpret_cast<std::uintptr_t>(raw.element.qp->qp_context)};
      break;
    case IBV_EVENT_CQ_ERR:
      event.queue = raw.element.cq;
      break;
    default:
      break;
  }
  ibv_ack_async_event(&raw);  // at once: what it is of cannot be destroyed before
  return event;
}

}  // namespace

ProcessWide& ProcessWide::instance() {
  static auto* const all =
      new ProcessWide{ContextRegistry({look_at_devices, meet_devices,
                                       [listing = std::make_shared<DeviceListing>()] { return (*listing)(); },
                                       replace_files}),
                      AsyncRouter(take_event)};
  return *all;
}

}  // namespace rdmove::failover::conn
