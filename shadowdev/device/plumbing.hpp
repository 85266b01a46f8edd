// Small things that control calls and moves share: descriptors, and physical objects that both make.
#pragma once

#include "shadowdev/device/engine.hpp"

namespace rdmove::shadow {

/// An epoll descriptor with one in it; programs poll it in place of the physical one.
int make_set(int first);
void add_to_set(int set, int fd);
void remove_from_set(int set, int fd);
/// False, with errno EAGAIN, if the descriptor does not block and nothing is there.
bool wait_for(int set);

/// Makes the physical CQ with room for the completions of moves; 0 or an errno.
int make_cq(Engine& engine, VirtualCq& cq);

/// UD: where the QPs of a GID are that programs know by other numbers. No lock held.
void learn_numbers(Engine& engine, VirtualContext& context, const ibv_gid& from, const ibv_gid& of);
void take_numbers(VirtualContext& context, const ibv_gid& of, const Pairs& pairs);
/// UD: a device leaves, and datagrams to it wait; or it is there again.
void mark_away(VirtualContext& context, const ibv_gid& of);
void mark_back(Engine& engine, VirtualContext& context, const ibv_gid& of);

}  // namespace rdmove::shadow
