#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "shadowdev/interpose/overrides.hpp"

namespace rdmove::shadow {
namespace {

constexpr const char* kRsockets = "this program uses rsockets, which are connections of librdmacm's own";

/// Why this device is passed through as it is, or nullptr.
const char* reason_against(ibv_device* device, void* caller) {
  if (ThisProcess::is_child()) return "this process was forked from one that is";
  if (is_rdma_cm(caller) && ThisProcess::passes_rdma_cm_through()) return kRsockets;
  if (device->node_type != IBV_NODE_CA) return "it is no InfiniBand or RoCE adapter";
  if (device->transport_type != IBV_TRANSPORT_IB) return "its transport is not InfiniBand's";
  return nullptr;
}

/// As libibverbs has it now.
ibv_context* open_unshadowed(ibv_device* device) {
  int count = 0;
  ibv_device** list = real().ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  int error = ENODEV;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (std::strcmp(list[i]->name, device->name) != 0) continue;
    context = real().ibv_open_device(list[i]);
    error = errno;
  }
  if (list != nullptr) real().ibv_free_device_list(list);
  if (context == nullptr) errno = error;
  return context;
}

/// The virtual context whose private copy of the device this is, or null.
VirtualContext* owner_of(const ibv_device* device) {
  if (ThisProcess::is_child()) return nullptr;
  Engine& engine = shadow().engine();
  const std::lock_guard hold(engine.control);
  for (VirtualContext* context : engine.contexts)
    if (&context->shown == device) return context;
  return nullptr;
}

/// Of a device as librdmacm has it, or null.
const std::uint64_t* stable_guid(const ibv_device* device) {
  return ThisProcess::is_child() ? nullptr : ThisProcess::get().devices_of_cm().guid_of(device);
}

int shadow_query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* out, std::size_t size) {
  ibv_port_attr all{};
  const int error = shadow().port_attributes(context, port, &all);
  std::memcpy(out, &all, std::min(size, sizeof all));
  return error;
}

ibv_qp* shadow_create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* init) {
  return create_with_send_ops(shadow(), init);
}

ibv_device** get_device_list(int* count) {
  if (!is_rdma_cm(__builtin_return_address(0)) || ThisProcess::is_child())
    return real().ibv_get_device_list(count);
  return ThisProcess::get().devices_of_cm().list(count);
}

void free_device_list(ibv_device** list) {
  if (ThisProcess::is_child() || !is_rdma_cm(__builtin_return_address(0)) ||
      !ThisProcess::get().devices_of_cm().free(list))
    real().ibv_free_device_list(list);
}

ibv_context* open_device(ibv_device* device) {
  const bool of_rdma_cm = is_rdma_cm(__builtin_return_address(0));
  const char* against = reason_against(device, __builtin_return_address(0));
  if (against != nullptr) {
    ThisProcess::unshadowed(device->name, against);
    return of_rdma_cm ? open_unshadowed(device) : real().ibv_open_device(device);
  }
  ThisProcess& process = ThisProcess::get();
  const ControlThread::Opening opening(process.control());
  ibv_context* context = shadow().open(device->name);
  if (context == nullptr) return nullptr;
  VirtualContext& opened = VirtualContext::of(context);
  if (opened.device_attributes.phys_port_cnt > 1) {
    shadow().close(context);
    ThisProcess::unshadowed(device->name, "it has more than one port");
    return of_rdma_cm ? open_unshadowed(device) : real().ibv_open_device(device);
  }
  opened.query_port = shadow_query_port;
  opened.create_qp_ex = shadow_create_qp_ex;
  opened.of_rdma_cm = of_rdma_cm;
  if (const std::uint64_t* guid = stable_guid(device)) {
    opened.guid = *guid;
  } else {
    opened.guid = real().ibv_get_device_guid(device);
    opened.index = real().ibv_get_device_index != nullptr ? real().ibv_get_device_index(device) : -1;
  }
  std::vector<ibv_gid> gids;
  for (const ibv_gid_entry& row : opened.gids.rows()) gids.push_back(row.gid);
  process.link().announce(gids);
  return context;
}

int close_device(ibv_context* context) {
  if (!is_shadowed(context)) return real().ibv_close_device(context);
  return minus_one(shadow().close(context));
}

__be64 get_device_guid(ibv_device* device) {
  if (const std::uint64_t* guid = stable_guid(device)) return *guid;
  const VirtualContext* context = owner_of(device);
  return context != nullptr ? context->guid : real().ibv_get_device_guid(device);
}

int get_device_index(ibv_device* device) {
  if (stable_guid(device) != nullptr) return -1;
  const VirtualContext* context = owner_of(device);
  return context != nullptr ? context->index : real().ibv_get_device_index(device);
}

int query_device(ibv_context* context, ibv_device_attr* out) {
  if (!is_shadowed(context)) return real().ibv_query_device(context, out);
  return shadow().device_attributes(context, out);
}

int query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* out) {
  if (!is_shadowed(context)) return (real().ibv_query_port)(context, port, out);
  // Up to where the struct had grown when this function was all there was.
  return shadow_query_port(context, port, reinterpret_cast<ibv_port_attr*>(out),
                           offsetof(ibv_port_attr, port_cap_flags2));
}

int query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* out) {
  if (!is_shadowed(context)) return real().ibv_query_gid(context, port, index, out);
  return minus_one(shadow().gid(context, port, index, out));
}

int query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* out,
                 std::uint32_t flags, std::size_t size) {
  if (!is_shadowed(context)) return real()._ibv_query_gid_ex(context, port, index, out, flags, size);
  std::vector<ibv_gid_entry> rows;
  if (const int error = shadow().gid_table(context, &rows)) return error;
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ibv_gid_entry& row) {
    return row.gid_index == index && row.port_num == port;
  });
  if (found == rows.end()) return ENODATA;
  std::memcpy(out, &*found, std::min(size, sizeof *found));
  return 0;
}

ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* out, std::size_t most, std::uint32_t flags,
                        std::size_t size) {
  if (!is_shadowed(context)) return real()._ibv_query_gid_table(context, out, most, flags, size);
  std::vector<ibv_gid_entry> rows;
  if (const int error = shadow().gid_table(context, &rows)) return -error;
  if (rows.size() > most || size != sizeof(ibv_gid_entry)) return -EINVAL;
  std::copy(rows.begin(), rows.end(), out);
  return static_cast<ssize_t>(rows.size());
}

int query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* out) {
  if (!is_shadowed(context)) return real().ibv_query_pkey(context, port, index, out);
  return with_physical(
      context, [&](ibv_context* one) { return real().ibv_query_pkey(one, port, index, out); }, -1);
}

int get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  if (!is_shadowed(context)) return real().ibv_get_pkey_index(context, port, pkey);
  return with_physical(
      context, [&](ibv_context* one) { return real().ibv_get_pkey_index(one, port, pkey); }, -1);
}

int get_async_event(ibv_context* context, ibv_async_event* out) {
  if (!is_shadowed(context)) return real().ibv_get_async_event(context, out);
  return shadow().get_async_event(context, out);
}

/// An event has no context of its own: whose it is says the object that it is about.
const ibv_context* context_of_event(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return event.element.cq->context;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return event.element.srq->context;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return event.element.qp->context;
    default:
      return nullptr;
  }
}

void ack_async_event(ibv_async_event* event) {
  const ibv_context* context = context_of_event(*event);
  if (context == nullptr || !is_shadowed(context)) return real().ibv_ack_async_event(event);
  shadow().ack_async_event(event);
}

int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* path, std::uint8_t* mac, std::uint16_t* vlan) {
  if (!is_shadowed(context)) return real().ibv_resolve_eth_l2_from_gid(context, path, mac, vlan);
  ibv_ah_attr below = Engine::physical_path(VirtualContext::of(context), *path);
  return with_physical(
      context, [&](ibv_context* one) { return real().ibv_resolve_eth_l2_from_gid(one, &below, mac, vlan); },
      -1);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

bool is_rdma_cm(void* caller) {
  Dl_info where{};
  if (dladdr(caller, &where) == 0 || where.dli_fname == nullptr) return false;
  const char* file = std::strrchr(where.dli_fname, '/');
  file = file == nullptr ? where.dli_fname : file + 1;
  return std::strncmp(file, "librdmacm", 9) == 0;
}

bool is_shadowed(const ibv_context* context) {
  return is_virtual(*context);
}

const Override* find_device_override(const char* name, const char* version) {
  // Not at namespace scope: this is called before constructors have run.
  static const Override all[] = {
      {"ibv_get_device_list", "IBVERBS_1.1", address(get_device_list)},
      {"ibv_free_device_list", "IBVERBS_1.1", address(free_device_list)},
      {"ibv_open_device", "IBVERBS_1.1", address(open_device)},
      {"ibv_close_device", "IBVERBS_1.1", address(close_device)},
      {"ibv_get_device_guid", "IBVERBS_1.1", address(get_device_guid)},
      {"ibv_get_device_index", "IBVERBS_1.9", address(get_device_index)},
      {"ibv_query_device", "IBVERBS_1.1", address(query_device)},
      {"ibv_query_port", "IBVERBS_1.1", address(query_port)},
      {"ibv_query_gid", "IBVERBS_1.1", address(query_gid)},
      {"_ibv_query_gid_ex", "IBVERBS_1.11", address(query_gid_ex)},
      {"_ibv_query_gid_table", "IBVERBS_1.11", address(query_gid_table)},
      {"ibv_query_pkey", "IBVERBS_1.1", address(query_pkey)},
      {"ibv_get_pkey_index", "IBVERBS_1.5", address(get_pkey_index)},
      {"ibv_get_async_event", "IBVERBS_1.1", address(get_async_event)},
      {"ibv_ack_async_event", "IBVERBS_1.1", address(ack_async_event)},
      {"ibv_resolve_eth_l2_from_gid", "IBVERBS_1.1", address(resolve_eth_l2_from_gid)},
  };
  for (const Override& one : all)
    if (std::strcmp(one.name, name) == 0 && std::strcmp(one.version, version) == 0) return &one;
  return nullptr;
}

}  // namespace rdmove::shadow
