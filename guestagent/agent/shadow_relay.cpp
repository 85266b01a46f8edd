#include "guestagent/agent/shadow_relay.hpp"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <system_error>
#include <utility>

#include "guestagent/agent/gid_address.hpp"
#include "shadowdev/device/peer_message.hpp"

namespace rdmove::agent {

using boost::asio::ip::tcp;
using boost::asio::local::stream_protocol;
using boost::system::error_code;
using shadow::Frame;
using shadow::FrameKind;

namespace {

constexpr std::chrono::milliseconds connect_within{500};

std::array<std::uint8_t, 16> bytes_of(const ibv_gid& gid) {
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(gid.raw, 16, bytes.begin());
  return bytes;
}

Frame answer_to(std::uint32_t id, std::optional<std::vector<std::byte>> bytes) {
  Frame frame;
  frame.id = id;
  frame.kind = bytes ? FrameKind::Answer : FrameKind::Nobody;
  if (bytes) frame.payload = std::move(*bytes);
  return frame;
}

std::vector<std::byte> not_there() {
  shadow::Answer answer;
  answer.said = shadow::Said::NotThere;
  return encode(answer);
}

bool is_not_there(const std::vector<std::byte>& bytes) {
  const auto answer = shadow::decode_answer(bytes);
  return answer && answer->said == shadow::Said::NotThere;
}

}  // namespace

ShadowRelay::ShadowRelay(boost::asio::io_context& io, const std::filesystem::path& path, std::uint16_t port)
    : io_(io), path_(path), port_(port), processes_acceptor_(io), guests_acceptor_(io) {
  ::unlink(path.c_str());
  processes_acceptor_.open();
  processes_acceptor_.bind(stream_protocol::endpoint(path.string()));
  if (::chmod(path.c_str(), 0666) != 0)
    throw std::system_error(errno, std::generic_category(), path.string());
  processes_acceptor_.listen();
  accept_process();
}

ShadowRelay::~ShadowRelay() {
  ::unlink(path_.c_str());
}

void ShadowRelay::accept_process() {
  processes_acceptor_.async_accept([this](const error_code& error, stream_protocol::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (!error) admit(std::move(socket));
    accept_process();
  });
}

void ShadowRelay::admit(stream_protocol::socket socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  const auto same_user = std::count_if(processes_.begin(), processes_.end(),
                                       [&](const auto& one) { return one->uid == peer.uid; });
  if (processes_.size() >= max_processes ||
      (peer.uid != 0 && static_cast<std::size_t>(same_user) >= max_processes_per_user))
    return;
  const auto process = std::make_shared<Process>();
  process->uid = peer.uid;
  const std::weak_ptr<Process> weak = process;
  process->stream = std::make_shared<FrameStream>(std::move(socket),
                                                  FrameStream::Listener{[this, weak](const Frame& frame) {
                                                                          if (const auto one = weak.lock())
                                                                            take_of_process(*one, frame);
                                                                        },
                                                                        [this, weak] {
                                                                          const auto one = weak.lock();
                                                                          if (!one) return;
                                                                          processes_.erase(one);
                                                                          end_all_at(one->stream.get());
                                                                        }});
  processes_.insert(process);
  process->stream->start();
}

void ShadowRelay::listen() {
  if (guests_acceptor_.is_open()) return;
  error_code error;
  tcp::endpoint at(tcp::v6(), port_);
  guests_acceptor_.open(at.protocol(), error);
  if (!error) {
    guests_acceptor_.set_option(boost::asio::ip::v6_only(false), error);
  } else {  // a kernel without IPv6
    at = tcp::endpoint(tcp::v4(), port_);
    guests_acceptor_.open(at.protocol(), error);
  }
  if (!error) guests_acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) guests_acceptor_.bind(at, error);
  if (!error) guests_acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) {
    spdlog::error("shadows of other guests cannot ask ours: port {}: {}", port_, error.message());
    error_code ignored;
    guests_acceptor_.close(ignored);
    return;
  }
  spdlog::info("shadows of other guests may ask ours at port {}", port_);
  accept_guest();
}

void ShadowRelay::accept_guest() {
  guests_acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    error_code unknown;
    const auto end = socket.remote_endpoint(unknown);
    if (!error && !unknown && from_guests_.size() < max_guests) {
      socket.set_option(tcp::no_delay(true), unknown);
      const auto address = gid_of(end.address());
      auto self = std::make_shared<std::weak_ptr<FrameStream>>();
      const auto stream =
          std::make_shared<FrameStream>(FrameStream::Socket(std::move(socket)),
                                        FrameStream::Listener{[this, self, address](const Frame& frame) {
                                                                if (const auto one = self->lock())
                                                                  take_of_guest(address, one, frame);
                                                              },
                                                              [this, self] {
                                                                if (const auto one = self->lock())
                                                                  from_guests_.erase(one);
                                                              }});
      *self = stream;
      from_guests_.insert(stream);
      stream->start();
    }
    accept_guest();
  });
}

void ShadowRelay::take_of_process(Process& process, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::Here:
      if (process.gids.size() < max_gids) process.gids.insert(bytes_of(frame.to));
      return listen();
    case FrameKind::Question: {
      const auto reply = [stream = std::weak_ptr(process.stream), id = frame.id](std::optional<Bytes> bytes) {
        if (const auto one = stream.lock()) one->send(answer_to(id, std::move(bytes)));
      };
      if (!process.gids.contains(bytes_of(frame.from))) {
        ++refused_;
        return reply(std::nullopt);
      }
      const auto has_it = [&](const auto& one) { return one->gids.contains(bytes_of(frame.to)); };
      if (std::any_of(processes_.begin(), processes_.end(), has_it)) return ask_here(frame, reply);
      return ask_guest(frame, reply);
    }
    default:
      return take_answer(process.stream.get(), frame);
  }
}

void ShadowRelay::take_of_guest(const Gid& address, const Stream& stream, const Frame& frame) {
  // Who asks is proven by where the connection comes from: a RoCE GID is an IP address.
  if (frame.kind != FrameKind::Question || bytes_of(frame.from) != address) {
    ++refused_;
    spdlog::warn("a shadow's question came from {}, which it does not belong to", text_of_gid(address));
    return stream->close();
  }
  ask_here(frame, [weak = std::weak_ptr(stream), id = frame.id](std::optional<Bytes> bytes) {
    if (const auto one = weak.lock()) one->send(answer_to(id, std::move(bytes)));
  });
}

void ShadowRelay::take_answer(const FrameStream* of, const Frame& frame) {
  const auto found = asked_.find(frame.id);
  if (found == asked_.end() || found->second.at != of) return;  // late
  settle(frame.id, frame.kind == FrameKind::Answer ? std::optional(frame.payload) : std::nullopt);
}

// All processes that have this GID are asked: which of them has the queue pair only they know.
void ShadowRelay::ask_here(const Frame& question, Reply reply) {
  struct Round {
    std::size_t left = 0;
    bool silence = false;
    Reply reply;
  };
  const auto round = std::make_shared<Round>();
  round->reply = std::move(reply);
  std::vector<std::shared_ptr<Process>> asked;
  for (const auto& process : processes_)
    if (process->gids.contains(bytes_of(question.to))) asked.push_back(process);
  if (asked.empty()) return round->reply(not_there());
  round->left = asked.size();
  for (const auto& process : asked) {
    const auto take = [round](std::optional<Bytes> bytes) {
      --round->left;
      if (!round->reply) return;
      if (bytes && !is_not_there(*bytes)) return std::exchange(round->reply, nullptr)(std::move(bytes));
      round->silence = round->silence || !bytes;
      if (round->left > 0) return;
      std::exchange(round->reply, nullptr)(round->silence ? std::nullopt : std::optional(not_there()));
    };
    process->stream->send(expect(process->stream.get(), question, take));
  }
}

void ShadowRelay::ask_guest(const Frame& question, Reply reply) {
  const auto guest = guest_towards(bytes_of(question.from), bytes_of(question.to));
  if (!guest) return reply(std::nullopt);
  const auto* at = guest->stream.get();
  Frame mine = expect(at, question, std::move(reply));
  if (guest->stream)
    guest->stream->send(mine);
  else
    guest->waiting.push_back(std::move(mine));
}

std::shared_ptr<ShadowRelay::Guest> ShadowRelay::guest_towards(const Gid& from, const Gid& to) {
  const std::pair ends(from, to);
  if (const auto known = guests_.find(ends); known != guests_.end()) return known->second;
  const auto source = address_of(from);
  const auto target = address_of(to);
  if (!source || !target || source->is_v4() != target->is_v4() || guests_.size() >= max_guests)
    return nullptr;
  const auto guest = std::make_shared<Guest>(io_);
  error_code error;
  guest->socket.open(target->is_v4() ? tcp::v4() : tcp::v6(), error);
  // From the GID's own address: that is what proves to the other side who asks.
  if (!error) guest->socket.bind(tcp::endpoint(*source, 0), error);
  if (error) return nullptr;
  guests_[ends] = guest;
  guest->deadline.expires_after(connect_within);
  guest->deadline.async_wait([guest](const error_code& cancelled) {
    error_code ignored;
    if (!cancelled && !guest->stream) guest->socket.close(ignored);
  });
  guest->socket.async_connect(tcp::endpoint(*target, port_), [this, ends, guest](const error_code& failed) {
    guest->deadline.cancel();
    if (failed) return drop_guest(ends);
    connected(ends, guest);
  });
  return guest;
}

void ShadowRelay::connected(const std::pair<Gid, Gid>& ends, const std::shared_ptr<Guest>& guest) {
  error_code ignored;
  guest->socket.set_option(tcp::no_delay(true), ignored);
  auto self = std::make_shared<const FrameStream*>(nullptr);
  guest->stream = std::make_shared<FrameStream>(
      FrameStream::Socket(std::move(guest->socket)),
      FrameStream::Listener{[this, self](const Frame& frame) { take_answer(*self, frame); },
                            [this, ends] { drop_guest(ends); }});
  *self = guest->stream.get();
  guest->stream->start();
  for (const Frame& frame : std::exchange(guest->waiting, {})) {
    if (const auto asked = asked_.find(frame.id); asked != asked_.end())
      asked->second.at = guest->stream.get();
    guest->stream->send(frame);
  }
}

void ShadowRelay::drop_guest(const std::pair<Gid, Gid>& ends) {
  const auto found = guests_.find(ends);
  if (found == guests_.end()) return;
  const auto guest = found->second;
  guests_.erase(found);
  if (guest->stream) end_all_at(guest->stream.get());
  for (const Frame& frame : guest->waiting) settle(frame.id, std::nullopt);
}

Frame ShadowRelay::expect(const FrameStream* at, Frame question, Reply reply) {
  question.id = ++last_;
  auto timer = std::make_unique<boost::asio::steady_timer>(io_, patience);
  timer->async_wait([this, id = question.id](const error_code& cancelled) {
    if (cancelled) return;
    const auto late = asked_.find(id);
    if (late == asked_.end()) return;
    const auto* stream = late->second.at;
    settle(id, std::nullopt);
    // A connection between guests that is this late may be one whose device has gone: the next question makes
    // another.
    for (const auto& [unused, guest] : guests_)
      if (stream != nullptr && guest->stream.get() == stream) return guest->stream->close();
  });
  asked_.emplace(question.id, Asked{at, std::move(reply), std::move(timer)});
  return question;
}

void ShadowRelay::settle(std::uint32_t id, std::optional<Bytes> answer) {
  const auto found = asked_.find(id);
  if (found == asked_.end()) return;
  const auto reply = std::move(found->second.reply);
  asked_.erase(found);
  reply(std::move(answer));
}

void ShadowRelay::end_all_at(const FrameStream* stream) {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, asked] : asked_)
    if (asked.at == stream) ids.push_back(id);
  // A process that has ended has no queue pairs: asked again, nobody is there.
  for (const std::uint32_t id : ids) settle(id, std::nullopt);
}

}  // namespace rdmove::agent
