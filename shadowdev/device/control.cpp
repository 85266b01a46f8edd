// Contexts, protection domains, memory regions, address handles.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "shadowdev/device/plumbing.hpp"
#include "shadowdev/device/shadow_verbs.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow {
ShadowVerbs::ShadowVerbs(Verbs& physical, PeerLink* link, const ShadowOptions& options)
    : engine_(physical, link, options) {}

ShadowVerbs::~ShadowVerbs() = default;

bool ShadowVerbs::wait_live(VirtualContext& context, std::unique_lock<std::mutex>& hold) {
  const auto live = [&] { return context.presence != Presence::Parked && !context.moving; };
  return engine_.came_back.wait_for(hold, engine_.options.control_wait, live);
}

ibv_context* ShadowVerbs::open(std::string_view device) {
  const std::lock_guard hold(engine_.control);
  ibv_context* physical = engine_.physical.open(device);
  if (physical == nullptr) return nullptr;
  auto context = std::make_unique<VirtualContext>();
  std::vector<ibv_gid_entry> gids;
  int error = engine_.physical.gid_table(physical, &gids);
  if (error == 0) error = engine_.physical.device_attributes(physical, &context->device_attributes);
  if (error == 0) error = engine_.physical.port_attributes(physical, 1, &context->port_attributes);
  if (error != 0) {
    engine_.physical.close(physical);
    return refused<ibv_context>(error);
  }
  context->gids.refresh(gids);
  context->engine = &engine_;
  context->physical = physical;
  context->name = device;
  context->shown = *physical->device;
  Engine::fill_tables(*context);
  context->context.cmd_fd = -1;
  context->context.num_comp_vectors = physical->num_comp_vectors;
  context->async_backlog_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  context->context.async_fd = make_set(context->async_backlog_fd);
  add_to_set(context->context.async_fd, physical->async_fd);
  engine_.contexts.push_back(context.get());
  return &context.release()->context;
}

int ShadowVerbs::close(ibv_context* shown) {
  std::unique_lock hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  const auto is_free = [&] { return context.pins == 0; };
  if (!engine_.came_back.wait_for(hold, engine_.options.control_wait, is_free)) return EBUSY;
  if (!context.pds.empty() || !context.cqs.empty() || !context.channels.empty()) return EBUSY;
  if (context.physical != nullptr)
    if (const int error = engine_.physical.close(context.physical)) return error;
  std::erase(engine_.contexts, &context);
  ::close(shown->async_fd);
  ::close(context.async_backlog_fd);
  delete &context;
  return 0;
}

int ShadowVerbs::device_attributes(ibv_context* shown, ibv_device_attr* out) {
  const std::lock_guard hold(engine_.control);
  *out = VirtualContext::of(shown).device_attributes;
  return 0;
}

int ShadowVerbs::port_attributes(ibv_context* shown, std::uint8_t port, ibv_port_attr* out) {
  const std::lock_guard hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (context.physical != nullptr) return engine_.physical.port_attributes(context.physical, port, out);
  if (port != 1) return EINVAL;
  *out = context.port_attributes;
  return 0;
}

int ShadowVerbs::gid(ibv_context* shown, std::uint8_t port, int index, ibv_gid* out) {
  const std::lock_guard hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (port != 1 || index < 0 || index >= context.port_attributes.gid_tbl_len) return EINVAL;
  if (context.gids.at(static_cast<std::uint32_t>(index)) == nullptr)  // an address may be new
    if (const int error = refresh_gids(context)) return error;
  const ibv_gid_entry* row = context.gids.at(static_cast<std::uint32_t>(index));
  *out = row == nullptr ? ibv_gid{} : row->gid;  // an unused row is zero, and no error
  return 0;
}

int ShadowVerbs::gid_table(ibv_context* shown, std::vector<ibv_gid_entry>* out) {
  const std::lock_guard hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (const int error = refresh_gids(context)) return error;
  *out = context.gids.rows();
  return 0;
}

int ShadowVerbs::refresh_gids(VirtualContext& context) {
  if (context.physical == nullptr || context.moving) return 0;
  std::vector<ibv_gid_entry> now;
  if (const int error = engine_.physical.gid_table(context.physical, &now)) return error;
  context.gids.refresh(now);
  return 0;
}

ibv_pd* ShadowVerbs::alloc_pd(ibv_context* shown) {
  std::unique_lock hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (!wait_live(context, hold)) return refused<ibv_pd>(EBUSY);
  if (context.physical == nullptr) return refused<ibv_pd>(EIO);
  ibv_pd* physical = engine_.physical.alloc_pd(context.physical);
  if (physical == nullptr) return nullptr;
  auto* pd = new VirtualPd();
  pd->context = shown;
  pd->physical = physical;
  context.pds.push_back(pd);
  return pd;
}

int ShadowVerbs::dealloc_pd(ibv_pd* shown) {
  const std::lock_guard hold(engine_.control);
  auto* pd = static_cast<VirtualPd*>(shown);
  auto& context = VirtualContext::of(pd->context);
  const auto uses = [&](const auto* one) { return one->pd == pd; };
  if (std::any_of(context.mrs.begin(), context.mrs.end(), uses) ||
      std::any_of(context.qps.begin(), context.qps.end(), uses) ||
      std::any_of(context.srqs.begin(), context.srqs.end(), uses) ||
      std::any_of(context.ahs.begin(), context.ahs.end(), uses))
    return EBUSY;
  if (pd->physical != nullptr)
    if (const int error = engine_.physical.dealloc_pd(pd->physical)) return error;
  std::erase(context.pds, pd);
  delete pd;
  return 0;
}

ibv_mr* ShadowVerbs::reg_mr(ibv_pd* shown, void* address, std::size_t length, std::uint64_t iova,
                            unsigned access) {
  std::unique_lock hold(engine_.control);
  auto* pd = static_cast<VirtualPd*>(shown);
  auto& context = VirtualContext::of(pd->context);
  if ((access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_MW_BIND)) != 0) return refused<ibv_mr>(EOPNOTSUPP);
  if (!wait_live(context, hold)) return refused<ibv_mr>(EBUSY);
  if (pd->physical == nullptr) return refused<ibv_mr>(EIO);
  // Made again until its keys are none that a program knows as another region's, or knew.
  const auto collides = [&](std::uint32_t key) {
    return context.local_keys.contains(key) || context.retired_keys.contains(key);
  };
  std::vector<ibv_mr*> spare;
  ibv_mr* made = nullptr;
  for (int i = 0; i < kMostAttempts; ++i) {
    ibv_mr* one = engine_.physical.reg_mr(pd->physical, address, length, iova, access);
    if (one == nullptr) break;
    if (context.moves == 0 || !(collides(one->lkey) || collides(one->rkey))) {
      made = one;
      break;
    }
    spare.push_back(one);
  }
  const int error = made != nullptr ? 0 : (spare.empty() ? errno : ENOMEM);
  for (ibv_mr* one : spare) engine_.physical.dereg_mr(one);
  if (made == nullptr) return refused<ibv_mr>(error);
  auto* mr = new VirtualMr();
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->lkey = made->lkey;
  mr->rkey = made->rkey;
  mr->physical = made;
  mr->iova = iova;
  mr->access = access;
  context.mrs.push_back(mr);
  const std::unique_lock tables(context.tables);
  context.local_keys[mr->lkey] = made->lkey;
  context.physical_keys.insert({made->lkey, made->rkey});
  return mr;
}

int ShadowVerbs::dereg_mr(ibv_mr* shown) {
  const std::lock_guard hold(engine_.control);
  auto* mr = static_cast<VirtualMr*>(shown);
  auto& context = VirtualContext::of(mr->context);
  if (mr->physical != nullptr) {
    const std::uint32_t keys[] = {mr->physical->lkey, mr->physical->rkey};
    if (const int error = engine_.physical.dereg_mr(mr->physical)) return error;
    const std::unique_lock tables(context.tables);
    for (const std::uint32_t key : keys) {
      context.physical_keys.erase(key);
      if (context.moves != 0) context.retired_keys.insert(key);  // peers may have been told
    }
  }
  {
    const std::unique_lock tables(context.tables);
    context.local_keys.erase(mr->lkey);
    if (context.moves != 0) context.retired_keys.insert({mr->lkey, mr->rkey});
  }
  std::erase(context.mrs, mr);
  delete mr;
  return 0;
}

ibv_ah* ShadowVerbs::create_ah(ibv_pd* shown, ibv_ah_attr* attributes) {
  std::unique_lock hold(engine_.control);
  auto* pd = static_cast<VirtualPd*>(shown);
  auto& context = VirtualContext::of(pd->context);
  if (!wait_live(context, hold)) return refused<ibv_ah>(EBUSY);
  if (pd->physical == nullptr) return refused<ibv_ah>(EIO);
  ibv_ah_attr path = Engine::physical_path(context, *attributes);
  ibv_ah* physical = engine_.physical.create_ah(pd->physical, &path);
  if (physical == nullptr) return nullptr;
  auto* ah = new VirtualAh();
  ah->context = pd->context;
  ah->pd = pd;
  ah->physical = physical;
  ah->attributes = *attributes;
  context.ahs.push_back(ah);
  const ibv_gid_entry* from = context.gids.at(attributes->grh.sgid_index);
  const ibv_gid source = from == nullptr ? ibv_gid{} : from->gid;
  hold.unlock();
  // Has that side moved already? Then its QPs have other numbers than programs say.
  learn_numbers(engine_, context, source, attributes->grh.dgid);
  return ah;
}

int ShadowVerbs::destroy_ah(ibv_ah* shown) {
  const std::lock_guard hold(engine_.control);
  auto* ah = static_cast<VirtualAh*>(shown);
  if (ah->physical != nullptr)
    if (const int error = engine_.physical.destroy_ah(ah->physical)) return error;
  std::erase(VirtualContext::of(ah->context).ahs, ah);
  delete ah;
  return 0;
}

}  // namespace rdmove::shadow
