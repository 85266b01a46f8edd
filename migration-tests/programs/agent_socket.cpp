#include "agent_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "clock.hpp"

namespace beat {
namespace {
constexpr std::size_t kLineLimit = 64 * 1024;
}

AgentSocket::~AgentSocket() {
  disconnect();
}

void AgentSocket::disconnect() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  partial_.clear();
}

void AgentSocket::try_connect(const std::string& name) {
  if (fd_ >= 0) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return;
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return disconnect();
  send_line(nlohmann::json{
      {"jsonrpc", "2.0"}, {"id", 1}, {"method", "register"}, {"params", {{"version", 1}, {"name", name}}}}
                .dump());
}

// Lines are short and the agent reads: a socket that does not take one whole is as good as lost.
void AgentSocket::send_line(const std::string& line) {
  const std::string framed = line + '\n';
  if (fd_ >= 0 &&
      ::send(fd_, framed.data(), framed.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(framed.size()))
    disconnect();
}

void AgentSocket::answer_released(const std::string& id) {
  send_line(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"released":true}})");
}

void AgentSocket::report(const std::string& state, bool up, std::chrono::milliseconds last_blackout,
                         std::uint64_t resent) {
  nlohmann::json params{{"connections", 1}, {"up", up ? 1 : 0}, {"state", state}, {"resent", resent}};
  if (last_blackout.count() >= 0) params["last_blackout_ms"] = std::min<long>(last_blackout.count(), 600'000);
  send_line(nlohmann::json{{"jsonrpc", "2.0"}, {"method", "report"}, {"params", params}}.dump());
}

std::vector<AgentMessage> AgentSocket::read_messages() {
  std::vector<AgentMessage> messages;
  std::array<char, 4096> buffer;
  while (fd_ >= 0) {
    const ssize_t size = recv(fd_, buffer.data(), buffer.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (size <= 0) {
      disconnect();
      messages.push_back({AgentWord::Lost, {}});
      break;
    }
    partial_.append(buffer.data(), static_cast<std::size_t>(size));
    for (std::size_t end; (end = partial_.find('\n')) != std::string::npos; partial_.erase(0, end + 1))
      handle_line(partial_.substr(0, end), messages);
    if (partial_.size() > kLineLimit) {
      disconnect();
      messages.push_back({AgentWord::Lost, {}});
    }
  }
  return messages;
}

void AgentSocket::handle_line(const std::string& line, std::vector<AgentMessage>& messages) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("method") || !json["method"].is_string()) {
    if (json.is_object() && json.contains("error")) log_event("agent refuses: " + json["error"].dump());
    return;
  }
  const std::string method = json["method"];
  const std::string id = json.contains("id") ? json["id"].dump() : std::string();
  if (method == "quiesce" && !id.empty())
    messages.push_back({AgentWord::Quiesce, id});
  else if (method == "removed")
    messages.push_back({AgentWord::Removed, {}});
  else if (method == "ready")
    messages.push_back({AgentWord::Ready, {}});
  else if (method == "resume")
    messages.push_back({AgentWord::Resume, {}});
  else if (!id.empty())
    send_line(R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":-32601,"message":"no such method"}})");
}

}  // namespace beat
