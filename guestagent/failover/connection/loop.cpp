#include "rdmove/loop.hpp"

#include "guestagent/failover/connection/loop_core.hpp"

namespace rdmove::failover {

Result<std::unique_ptr<Loop>> Loop::create(const LoopOptions& options) {
  auto core = std::make_unique<LoopCore>(options);
  if (auto opened = core->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<Loop>(new Loop(std::move(core)));
}

Loop::Loop(std::unique_ptr<LoopCore> core) : core_(std::move(core)) {}
Loop::~Loop() = default;

int Loop::fd() const {
  return core_->fd();
}
void Loop::dispatch() {
  core_->dispatch(0);
}
void Loop::run() {
  core_->run();
}
void Loop::stop() {
  core_->stop();
}
Result<void> Loop::start_thread() {
  return core_->start_thread();
}
void Loop::post(std::function<void()> work) {
  core_->post(std::move(work));
}
void Loop::call(const std::function<void()>& work) {
  core_->call(work);
}
std::chrono::steady_clock::time_point Loop::came_back() const {
  return core_->came_back();
}
bool Loop::in_loop() const {
  return core_->in_loop();
}

}  // namespace rdmove::failover
