#include "coordinator/simulation/fibers.hpp"

#include <algorithm>
#include <utility>

namespace rdmove::simulation {
namespace {

constexpr std::size_t kStack = 256 * 1024;

}  // namespace

Fibers::~Fibers() {
  while (!alive_.empty()) kill(alive_.front()->owner);
}

void Fibers::start(const void* owner, std::function<void()> work) {
  const auto fiber = std::make_shared<Fiber>();
  fiber->owner = owner;
  fiber->work = std::move(work);
  if (stacks_.empty()) {
    fiber->stack.reset(new char[kStack]);  // not zeroed: only what is used is ever touched
  } else {
    fiber->stack = std::move(stacks_.back());
    stacks_.pop_back();
  }
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = kStack;
  fiber->context.uc_link = &main_;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  // makecontext passes ints; a pointer goes in two halves.
  makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Fibers::enter), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  alive_.push_back(fiber);
  resume(fiber);
}

void Fibers::enter(unsigned high, unsigned low) {
  auto* fibers = reinterpret_cast<Fibers*>(std::uintptr_t{high} << 32 | low);
  Fiber& fiber = *fibers->current_;
  try {
    std::exchange(fiber.work, nullptr)();
  } catch (const Killed&) {
    // Its daemon is gone.
  }
  fiber.over = true;
}

void Fibers::resume(const Handle& fiber) {
  const Handle before = std::exchange(current_, fiber);
  swapcontext(&main_, &fiber->context);
  current_ = before;
  if (!fiber->over) return;
  stacks_.push_back(std::move(fiber->stack));
  std::erase(alive_, fiber);
}

void Fibers::suspend() {
  Fiber& fiber = *current_;
  swapcontext(&fiber.context, &main_);
  if (fiber.killed) throw Killed{};
}

void Fibers::sleep(Duration time) {
  if (current_->killed) throw Killed{};
  const std::uint64_t wait = ++current_->wait;
  agenda_.after(time, [this, fiber = current_, wait] {
    if (!fiber->over && fiber->wait == wait) resume(fiber);
  });
  suspend();
}

void Fibers::await(const std::function<void(std::function<void()> wake)>& arrange) {
  if (current_->killed) throw Killed{};
  const std::uint64_t wait = ++current_->wait;
  arrange([this, fiber = current_, wait] {
    agenda_.after(Duration(0), [this, fiber, wait] {
      if (!fiber->over && fiber->wait == wait) resume(fiber);
    });
  });
  suspend();
}

void Fibers::kill(const void* owner) {
  const std::vector<Handle> all = alive_;
  for (const Handle& fiber : all) {
    if (fiber->owner != owner || fiber->over) continue;
    fiber->killed = true;
    ++fiber->wait;
    resume(fiber);
  }
}

}  // namespace rdmove::simulation
