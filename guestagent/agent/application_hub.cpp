#include "guestagent/agent/application_hub.hpp"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace rdmove::agent {

namespace words = protocol::application;
using boost::asio::local::stream_protocol;

ApplicationHub::ApplicationHub(boost::asio::io_context& io, Timers& timers, const std::filesystem::path& path)
    : timers_(timers), path_(path), acceptor_(io) {
  ::unlink(path.c_str());
  acceptor_.open();
  acceptor_.bind(stream_protocol::endpoint(path.string()));
  if (::chmod(path.c_str(), 0666) != 0)
    throw std::system_error(errno, std::generic_category(), path.string());
  acceptor_.listen();
  accept();
}

ApplicationHub::~ApplicationHub() {
  ::unlink(path_.c_str());
}

void ApplicationHub::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, stream_protocol::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (!error) admit(std::move(socket));
    accept();
  });
}

void ApplicationHub::admit(stream_protocol::socket socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  const auto same_user =
      std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& s) { return s->uid() == peer.uid; });
  if (sessions_.size() >= max_clients ||
      (peer.uid != 0 && static_cast<std::size_t>(same_user) >= max_clients_per_user)) {
    spdlog::warn("application pid={} uid={} turned away: too many connections", peer.pid, peer.uid);
    return;
  }
  ApplicationSession::Listener listener{[this](ApplicationSession& session) {
                                          if (hold_) ask(session);
                                        },
                                        [this](ApplicationSession&) { check_all_released(); },
                                        [this](ApplicationSession& session) {
                                          sessions_.erase(session.shared_from_this());
                                          check_all_released();
                                        }};
  auto session = std::make_shared<ApplicationSession>(std::move(socket), peer.pid, peer.uid, timers_,
                                                      std::move(listener));
  sessions_.insert(session);
  session->start();
}

// A copy: sending may close a session, which takes it out of the set.
std::vector<ApplicationHub::Session> ApplicationHub::registered() const {
  std::vector<Session> out;
  std::copy_if(sessions_.begin(), sessions_.end(), std::back_inserter(out),
               [](const auto& s) { return s->is_registered(); });
  return out;
}

std::size_t ApplicationHub::count() const {
  return registered().size();
}

std::vector<std::int32_t> ApplicationHub::pids() const {
  std::vector<std::int32_t> out;
  for (const auto& session : registered()) out.push_back(session->pid());
  return out;
}

std::vector<protocol::ApplicationInfo> ApplicationHub::list() const {
  std::vector<protocol::ApplicationInfo> out;
  for (const auto& session : registered()) out.push_back(session->info());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return out;
}

void ApplicationHub::ask(ApplicationSession& session) {
  session.quiesce(++last_id_, *hold_);
}

void ApplicationHub::quiesce(const protocol::MigrationId& migration, std::chrono::milliseconds deadline,
                             std::function<void()> on_all_released) {
  hold_ = words::Quiesce{migration, deadline};
  for (const auto& session : registered()) ask(*session);
  on_all_released_ = std::move(on_all_released);
  check_all_released();
}

void ApplicationHub::check_all_released() {
  if (!on_all_released_) return;
  for (const auto& session : sessions_) {
    if (session->is_asked()) return;
  }
  std::exchange(on_all_released_, nullptr)();
}

std::vector<protocol::Holdout> ApplicationHub::unreleased() const {
  std::vector<protocol::Holdout> out;
  for (const auto& session : registered()) {
    if (session->is_asked()) out.push_back({session->pid(), session->name(), {}});
  }
  return out;
}

std::vector<std::int32_t> ApplicationHub::released() const {
  std::vector<std::int32_t> out;
  for (const auto& session : registered()) {
    if (session->has_released()) out.push_back(session->pid());
  }
  return out;
}

void ApplicationHub::removed() {
  on_all_released_ = nullptr;
  for (const auto& session : registered()) session->tell(protocol::notification(words::Removed{}));
}

void ApplicationHub::resume() {
  end_hold(protocol::notification(words::Resume{}));
}

void ApplicationHub::ready(const protocol::MigrationId& migration,
                           const std::vector<std::string>& addresses) {
  end_hold(protocol::notification(words::Ready{migration, addresses}));
}

void ApplicationHub::end_hold(const protocol::Notification& word) {
  on_all_released_ = nullptr;
  hold_.reset();
  for (const auto& session : registered()) {
    session->end_hold();
    session->tell(word);
  }
}

}  // namespace rdmove::agent
