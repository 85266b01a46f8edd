#include "guestagent/agent/verbs_gid_events.hpp"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>

namespace rdmove::agent {
namespace {

using Context = std::unique_ptr<ibv_context, decltype(&ibv_close_device)>;

Context open_device(const std::string& rdma) {
  Context out(nullptr, &ibv_close_device);
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  for (int i = 0; list != nullptr && i < count; ++i) {
    if (rdma == ibv_get_device_name(list[i])) out.reset(ibv_open_device(list[i]));
  }
  const int why = errno;
  if (list != nullptr) ibv_free_device_list(list);
  errno = why;
  return out;
}

class VerbsWatch final : public GidEvents::Watch {
 public:
  VerbsWatch(boost::asio::io_context& io, Context context, std::function<void()> changed)
      : context_(std::move(context)), changed_(std::move(changed)), events_(io) {
    ::fcntl(context_->async_fd, F_SETFL, ::fcntl(context_->async_fd, F_GETFL) | O_NONBLOCK);
    events_.assign(::dup(context_->async_fd));
    wait();
  }

 private:
  void wait() {
    events_.async_wait(events_.wait_read, [this](const boost::system::error_code& error) {
      if (error) return;
      // Whatever it is: the table is looked at, and so is the device.
      errno = 0;
      for (ibv_async_event event{}; ibv_get_async_event(context_.get(), &event) == 0;) {
        ibv_ack_async_event(&event);
      }
      if (errno == EAGAIN) wait();  // else the device was taken away from us, and would be readable for ever
      const auto changed = changed_;  // may destroy us
      changed();
    });
  }

  Context context_;
  std::function<void()> changed_;
  boost::asio::posix::stream_descriptor events_;
};

}  // namespace

std::unique_ptr<GidEvents::Watch> VerbsGidEvents::watch(const std::string& rdma,
                                                        std::function<void()> changed) {
  auto context = open_device(rdma);
  if (!context) {
    spdlog::info("rdma={} no events of its GIDs: {}", rdma, std::strerror(errno));
    return nullptr;
  }
  return std::make_unique<VerbsWatch>(io_, std::move(context), std::move(changed));
}

}  // namespace rdmove::agent
