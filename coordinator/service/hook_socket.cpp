#include "coordinator/service/hook_socket.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <memory>

#include "coordinator/hook/question.hpp"
#include "coordinator/service/unix_listener.hpp"

namespace rdmove {
namespace {

using Unix = boost::asio::local::stream_protocol;

constexpr std::size_t kLongestQuestion = 1024;
constexpr std::chrono::seconds kPatience{5};

/// Lives in its own handlers.
struct Conversation : std::enable_shared_from_this<Conversation> {
  Conversation(Unix::socket s, const HookSocket::Judge& j)
      : socket(std::move(s)), judge(j), patience(socket.get_executor()) {}

  void begin() {
    patience.expires_after(kPatience);
    patience.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      boost::system::error_code ignored;
      if (!error) self->socket.close(ignored);
    });
    boost::asio::async_read_until(
        socket, boost::asio::dynamic_buffer(text, kLongestQuestion), '\n',
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t length) {
          if (error) {
            self->patience.cancel();
            return;
          }
          self->answer(self->text.substr(0, length - 1));
        });
  }

  void answer(const std::string& line) {
    const auto question = readQuestion(line);
    const Result<void> may =
        question ? judge(question->uuid, question->name) : tl::unexpected(question.error());
    if (question) {
      spdlog::info("libvirt asks whether {} ({}) may come in: {}", question->name, question->uuid.str(),
                   may ? "yes" : "no: " + may.error().sentence());
    }
    text = answerLine(may);
    boost::asio::async_write(socket, boost::asio::buffer(text),
                             [self = shared_from_this()](const boost::system::error_code&, std::size_t) {
                               self->patience.cancel();
                             });
  }

  Unix::socket socket;
  const HookSocket::Judge& judge;
  boost::asio::steady_timer patience;
  std::string text;
};

}  // namespace

Result<void> HookSocket::open(const std::string& path) {
  constexpr mode_t kRootAlone = 0600;
  if (auto listening = listenOn(acceptor_, path, kRootAlone); !listening) return listening;
  path_ = path;
  accept();
  return {};
}

void HookSocket::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

void HookSocket::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, Unix::socket socket) {
    if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!error) std::make_shared<Conversation>(std::move(socket), judge_)->begin();
    accept();
  });
}

}  // namespace rdmove
