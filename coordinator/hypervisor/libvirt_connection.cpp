#include "coordinator/hypervisor/libvirt_connection.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

namespace rdmove {
namespace {

using namespace std::chrono_literals;

constexpr int kKeepaliveSeconds = 5;
constexpr unsigned kKeepaliveCount = 3;
constexpr std::size_t kIdleConnections = 2;
constexpr auto kFirstBackoff = 200ms;
constexpr auto kLongestBackoff = 10000ms;

Result<virConnectPtr> openConnection(const std::string& uri) {
  virConnectPtr connection = virConnectOpen(uri.c_str());
  if (connection == nullptr) {
    auto error = libvirtFailure("connect to libvirt at " + uri);
    if (error.value().code == ErrorCode::kInternal) error.value().code = ErrorCode::kUnavailable;
    if (error.value().remedy.empty())
      error.value().remedy = "Check that libvirtd runs: virsh -c " + uri + " version.";
    return error;
  }
  virConnectSetKeepAlive(connection, kKeepaliveSeconds, kKeepaliveCount);  // in-process drivers have none
  return connection;
}

const char* reasonText(int reason) {
  switch (reason) {
    case VIR_CONNECT_CLOSE_REASON_EOF:
      return "libvirtd closed it";
    case VIR_CONNECT_CLOSE_REASON_KEEPALIVE:
      return "libvirtd does not answer";
    case VIR_CONNECT_CLOSE_REASON_CLIENT:
      return "closed here";
    default:
      return "an error on the socket";
  }
}

}  // namespace

ConnectionPool::~ConnectionPool() {
  close();
}

Result<ConnectionRef> ConnectionPool::take() {
  virConnectPtr connection = nullptr;
  {
    const std::lock_guard lock(mutex_);
    while (connection == nullptr && !idle_.empty()) {
      connection = idle_.back();
      idle_.pop_back();
      if (virConnectIsAlive(connection) != 1) virConnectClose(std::exchange(connection, nullptr));
    }
  }
  if (connection == nullptr) {
    auto opened = openConnection(uri_);
    if (!opened) return tl::unexpected(opened.error());
    connection = *opened;
  }
  return ConnectionRef(connection, [pool = weak_from_this()](virConnectPtr used) {
    if (const auto alive = pool.lock()) {
      alive->giveBack(used);
    } else {
      virConnectClose(used);
    }
  });
}

void ConnectionPool::warm() {
  (void)take();
}

void ConnectionPool::giveBack(virConnectPtr connection) {
  const bool alive = virConnectIsAlive(connection) == 1;
  {
    const std::lock_guard lock(mutex_);
    if (alive && !closed_ && idle_.size() < kIdleConnections) {
      idle_.push_back(connection);
      return;
    }
  }
  virConnectClose(connection);
}

void ConnectionPool::close() {
  std::vector<virConnectPtr> idle;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    idle.swap(idle_);
  }
  for (virConnectPtr each : idle) virConnectClose(each);
}

LibvirtConnection::LibvirtConnection(std::string uri, LibvirtEventLoop& loop, HypervisorListener& listener)
    : uri_(std::move(uri)),
      loop_(loop),
      sink_(std::make_shared<EventSink>(listener)),
      pool_(std::make_shared<ConnectionPool>(uri_)) {}

LibvirtConnection::~LibvirtConnection() {
  sink_->detach();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (keeper_.joinable()) keeper_.join();
  close(current_);
  pool_->close();
}

Result<void> LibvirtConnection::start() {
  auto opened = open();
  if (!opened) return tl::unexpected(opened.error());
  {
    const std::lock_guard lock(mutex_);
    current_ = std::move(*opened);
  }
  pool_->warm();
  keeper_ = std::thread([this] { keep(); });
  loop_.post([sink = sink_] { sink->tell([](HypervisorListener& l) { l.onConnection(true); }); });
  return {};
}

Result<ConnectionRef> LibvirtConnection::shared() {
  const std::lock_guard lock(mutex_);
  if (current_.connection && !lost_) return current_.connection;
  return failure(ErrorCode::kUnavailable, "ask libvirt at " + uri_,
                 "the connection is lost, and is being made again",
                 "Check that libvirtd runs: virsh -c " + uri_ + " version.");
}

Result<LibvirtConnection::Open> LibvirtConnection::open() {
  auto connection = openConnection(uri_);
  if (!connection) return tl::unexpected(connection.error());
  Open opened{ConnectionRef(*connection, [](virConnectPtr c) { virConnectClose(c); }), {}};
  // `this` outlives the registration: close() ends it, and the destructor joins the only thread that
  // re-opens.
  if (virConnectRegisterCloseCallback(*connection, &LibvirtConnection::closed, this, nullptr) < 0) {
    return libvirtFailure("watch the connection to libvirt");
  }
  auto events = registerEvents(*connection, sink_);
  if (!events) {
    close(opened);
    return tl::unexpected(events.error());
  }
  opened.events = std::move(*events);
  return opened;
}

void LibvirtConnection::close(Open& dead) {
  if (!dead.connection) return;
  virConnectUnregisterCloseCallback(dead.connection.get(), &LibvirtConnection::closed);
  deregisterEvents(dead.connection.get(), dead.events);
  dead = {};
}

void LibvirtConnection::closed(virConnectPtr, int reason, void* opaque) noexcept {
  static_cast<LibvirtConnection*>(opaque)->onLost(reason);
}

void LibvirtConnection::onLost(int reason) {
  spdlog::warn("libvirt connection lost uri={} reason=\"{}\"", uri_, reasonText(reason));
  {
    const std::lock_guard lock(mutex_);
    lost_ = true;
  }
  changed_.notify_all();
  sink_->tell([](HypervisorListener& l) { l.onConnection(false); });
}

void LibvirtConnection::keep() {
  while (true) {
    Open dead;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || lost_; });
      if (stopping_) return;
      dead = std::exchange(current_, {});
    }
    close(dead);
    if (!reopen()) return;
  }
}

/// False when the owner stops meanwhile.
bool LibvirtConnection::reopen() {
  for (auto backoff = kFirstBackoff;;
       backoff = std::min(2 * backoff, std::chrono::milliseconds(kLongestBackoff))) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, backoff, [this] { return stopping_; })) return false;
      lost_ = false;  // before the open: a connection that dies at once must be noticed
    }
    auto opened = open();
    const std::lock_guard lock(mutex_);
    if (!opened) {
      lost_ = true;
      spdlog::debug("libvirt {}", opened.error().sentence());
      continue;
    }
    current_ = std::move(*opened);
    break;
  }
  spdlog::info("libvirt connected again uri={}", uri_);
  pool_->warm();
  loop_.post([sink = sink_] { sink->tell([](HypervisorListener& l) { l.onConnection(true); }); });
  return true;
}

}  // namespace rdmove
