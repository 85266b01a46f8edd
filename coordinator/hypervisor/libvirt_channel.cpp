// Lifetimes. libvirt's remote driver does not reliably call a stream's free callback, so the callback's
// opaque is a number, looked up in a table of weak pointers: an event that comes late finds nothing. The core
// lives until its last job in the workers has run; removing the callback, abort and free are always the last
// job of all.
#include "coordinator/hypervisor/libvirt_channel.hpp"

#include <spdlog/spdlog.h>

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace rdmove {
namespace {

constexpr std::size_t kMaxQueued = 1024 * 1024;
constexpr std::size_t kPiece = 32 * 1024;  // below libvirt's limit of a stream packet
constexpr int kReadsPerEvent = 16;         // the loop serves others between a flooding guest's events
constexpr int kWatched = VIR_STREAM_EVENT_READABLE | VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR;

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(ConnectionRef connection, virStreamPtr stream, ChannelListener& listener,
       std::shared_ptr<LibvirtWorkers> workers)
      : connection_(std::move(connection)),
        stream_(stream),
        workers_(std::move(workers)),
        listener_(&listener) {}

  Result<void> watch();
  Result<void> send(std::string bytes);
  void close();
  void onEvent(int events);

 private:
  void readAll();
  void ended(const std::string& why);
  void schedule();
  void work();
  bool writeSome(std::unique_lock<std::recursive_mutex>& lock);
  void release();

  ConnectionRef connection_;
  const virStreamPtr stream_;
  const std::shared_ptr<LibvirtWorkers> workers_;
  std::uintptr_t id_ = 0;

  // Recursive: a listener may close the channel from its own callback. Held while the listener runs, so that
  // close() returns only when no call is in progress. Never held over a libvirt call that can wait.
  std::recursive_mutex mutex_;
  ChannelListener* listener_;
  std::deque<std::string> out_;
  std::size_t queued_ = 0;
  bool working_ = false;  ///< a job of this channel is in the workers: at most one
  bool releasing_ = false;
  bool full_ = false;  ///< libvirt takes no more until WRITABLE
};

/// Which channel a callback means.
class Table {
 public:
  std::uintptr_t add(const std::shared_ptr<Core>& core) {
    const std::lock_guard lock(mutex_);
    cores_[++last_] = core;
    return last_;
  }
  std::shared_ptr<Core> find(std::uintptr_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = cores_.find(id);
    return found == cores_.end() ? nullptr : found->second.lock();
  }
  void remove(std::uintptr_t id) {
    const std::lock_guard lock(mutex_);
    cores_.erase(id);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::weak_ptr<Core>> cores_;
  std::uintptr_t last_ = 0;
};

Table& table() {
  static Table instance;  // libvirt's callbacks are C: what they mean has to be global
  return instance;
}

void onStreamEvent(virStreamPtr, int events, void* opaque) noexcept {
  if (const auto core = table().find(reinterpret_cast<std::uintptr_t>(opaque))) core->onEvent(events);
}

/// A lost connection ends its streams without an event of theirs.
void onConnectionClosed(virConnectPtr, int, void* opaque) noexcept {
  onStreamEvent(nullptr, VIR_STREAM_EVENT_ERROR, opaque);
}

Result<void> Core::watch() {
  id_ = table().add(shared_from_this());
  void* opaque = reinterpret_cast<void*>(id_);
  if (virConnectRegisterCloseCallback(connection_.get(), onConnectionClosed, opaque, nullptr) == 0 &&
      virStreamEventAddCallback(stream_, kWatched, onStreamEvent, opaque, nullptr) == 0) {
    return {};
  }
  auto error = libvirtFailure("watch the channel");
  close();
  return error;
}

Result<void> Core::send(std::string bytes) {
  const std::lock_guard lock(mutex_);
  const std::string attempted = "send to the guest";
  if (listener_ == nullptr) return failure(ErrorCode::kUnavailable, attempted, "the channel is closed");
  if (queued_ + bytes.size() > kMaxQueued) {
    return failure(ErrorCode::kExhausted, attempted, "the guest does not read: more than 1 MiB waits",
                   "Check that rdmove-agent runs in the guest.");
  }
  queued_ += bytes.size();
  out_.push_back(std::move(bytes));
  if (!full_) schedule();
  return {};
}

void Core::close() {
  const std::lock_guard lock(mutex_);
  listener_ = nullptr;
  out_.clear();
  if (!std::exchange(releasing_, true)) schedule();
}

void Core::onEvent(int events) {
  const std::lock_guard lock(mutex_);
  if (listener_ == nullptr) return;
  readAll();
  if (listener_ == nullptr) return;
  if ((events & (VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR)) != 0) {
    ended((events & VIR_STREAM_EVENT_ERROR) != 0 ? "libvirt reports an error of the stream"
                                                 : "libvirt closed the stream");
  } else if ((events & VIR_STREAM_EVENT_WRITABLE) != 0) {
    full_ = false;
    virStreamEventUpdateCallback(stream_, kWatched);
    schedule();
  }
}

void Core::readAll() {
  std::array<char, kPiece> bytes;
  for (int i = 0; i < kReadsPerEvent && listener_ != nullptr; ++i) {
    const int n = virStreamRecv(stream_, bytes.data(), bytes.size());
    if (n > 0) {
      listener_->onBytes({bytes.data(), static_cast<std::size_t>(n)});
    } else if (n == 0) {
      ended("the other end was closed: the domain or its port has gone");
    } else if (n == -2) {
      return;
    } else {
      ended(std::string("libvirt: ") + virGetLastErrorMessage());
    }
  }
}

void Core::ended(const std::string& why) {
  ChannelListener* listener = std::exchange(listener_, nullptr);
  close();
  listener->onClosed(why);
}

void Core::schedule() {
  if (!std::exchange(working_, true)) workers_->run([self = shared_from_this()] { self->work(); });
}

void Core::work() {
  std::unique_lock lock(mutex_);
  while (!releasing_ && !full_ && !out_.empty()) {
    if (!writeSome(lock)) break;
  }
  if (releasing_) {
    lock.unlock();  // working_ stays true: nothing comes after this
    release();
    return;
  }
  working_ = false;
}

/// False when nothing more can be written now.
bool Core::writeSome(std::unique_lock<std::recursive_mutex>& lock) {
  const std::string piece = out_.front().substr(0, kPiece);
  lock.unlock();
  const int n = piece.empty() ? 0 : virStreamSend(stream_, piece.data(), piece.size());
  const std::string why = n == -1 ? virGetLastErrorMessage() : "";
  lock.lock();
  if (releasing_) return false;
  if (n == -1) {
    ended("libvirt: " + why);
    return false;
  }
  if (n == -2) {
    full_ = true;
    virStreamEventUpdateCallback(stream_, kWatched | VIR_STREAM_EVENT_WRITABLE);
    return false;
  }
  queued_ -= static_cast<std::size_t>(n);
  out_.front().erase(0, static_cast<std::size_t>(n));
  if (out_.front().empty()) out_.pop_front();
  return true;
}

void Core::release() {
  table().remove(id_);
  virConnectUnregisterCloseCallback(connection_.get(), onConnectionClosed);
  virStreamEventRemoveCallback(stream_);
  virStreamAbort(stream_);  // an ended one refuses; without it libvirtd would keep the port taken
  virStreamFree(stream_);
  connection_.reset();
}

class LibvirtChannel final : public ByteChannel {
 public:
  explicit LibvirtChannel(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~LibvirtChannel() override { core_->close(); }
  Result<void> send(std::string bytes) override { return core_->send(std::move(bytes)); }
  void close() override { core_->close(); }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace

Result<std::unique_ptr<ByteChannel>> openLibvirtChannel(ConnectionRef connection, virDomainPtr domain,
                                                        const std::string& port, ChannelListener& listener,
                                                        std::shared_ptr<LibvirtWorkers> workers) {
  const std::string attempted = "open channel " + port + " of " + virDomainGetName(domain);
  virStreamPtr stream = virStreamNew(connection.get(), VIR_STREAM_NONBLOCK);
  if (stream == nullptr) return libvirtFailure(attempted);
  if (virDomainOpenChannel(domain, port.c_str(), stream, 0) < 0) {
    auto error = libvirtFailure(attempted);
    if (lastLibvirtCode() == VIR_ERR_OPERATION_FAILED) {  // "Active channel stream exists for this domain"
      error.value().code = ErrorCode::kConflict;
      error.value().remedy = "Another program has the channel open; end it, then retry.";
    }
    virStreamFree(stream);
    return error;
  }
  auto core = std::make_shared<Core>(std::move(connection), stream, listener, std::move(workers));
  if (auto watched = core->watch(); !watched) return tl::unexpected(watched.error());
  return std::make_unique<LibvirtChannel>(std::move(core));
}

}  // namespace rdmove
