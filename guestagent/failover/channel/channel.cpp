// The public handle: everything is ChannelCore's.
#include "rdmove/channel.hpp"

#include "guestagent/failover/channel/channel_core.hpp"
#include "guestagent/failover/connection/listener_core.hpp"
#include "guestagent/failover/connection/loop_core.hpp"
#include "rdmove/loop.hpp"

namespace rdmove::failover {

using channel::OperationKind;

Channel::Channel(std::shared_ptr<ChannelCore> core) : core_(std::move(core)) {
  core_->attach(*this);
}

Channel::~Channel() {
  core_->close();
}

Result<std::unique_ptr<Channel>> Channel::connect(Loop& loop, const SocketAddress& peer,
                                                  const ChannelOptions& options, ChannelHandler& handler,
                                                  const std::optional<SocketAddress>& local) {
  const auto session = ChannelCore::check(options);
  if (!session) return tl::unexpected(session.error());
  const auto core = std::make_shared<ChannelCore>(loop.core().hub(), *session, handler);
  auto connection =
      Connection::connect(loop, peer, ChannelCore::connection_options(options, *session), *core, local);
  if (!connection) return tl::unexpected(connection.error());
  core->own(std::move(*connection));
  return ChannelCore::handle(core);
}

Result<std::unique_ptr<Channel>> Channel::accept(ConnectionRequest& request, const ChannelOptions& options,
                                                 ChannelHandler& handler) {
  const auto session = ChannelCore::check(options);
  if (!session) return tl::unexpected(session.error());
  const auto core = std::make_shared<ChannelCore>(request.answer().hub, *session, handler);
  auto connection = request.accept(ChannelCore::connection_options(options, *session), *core);
  if (!connection) return tl::unexpected(connection.error());
  core->own(std::move(*connection));
  return ChannelCore::handle(core);
}

Result<std::uint64_t> Channel::send(std::span<const std::byte> message) {
  return core_->session().send(message);
}
void Channel::pause() {
  core_->session().pause();
}

void Channel::unpause() {
  const auto self = core_;  // delivers, and may destroy us
  self->session().unpause();
}

Result<void> Channel::register_region(std::string_view name, void* address, std::size_t length,
                                      RegionAccess access) {
  return core_->register_region(name, address, length, access);
}

Result<void> Channel::withdraw_region(std::string_view name) {
  return core_->withdraw_region(name);
}

std::optional<std::size_t> Channel::peer_region(std::string_view name) const {
  const auto* region = core_->session().peer_regions().find(name);
  if (region == nullptr) return std::nullopt;
  return region->length;
}

Result<void> Channel::write(const LocalPart& from, std::string_view peer_region, std::size_t offset,
                            OneSidedDone done) {
  const auto self = core_;
  return self->session().one_sided(OperationKind::Write, from, peer_region, offset, std::move(done));
}

Result<void> Channel::read(std::string_view peer_region, std::size_t offset, const LocalPart& to,
                           OneSidedDone done) {
  const auto self = core_;
  return self->session().one_sided(OperationKind::Read, to, peer_region, offset, std::move(done));
}

void Channel::finish() {
  core_->finish();
}

void Channel::close() {
  const auto self = core_;
  self->close();
}

ConnectionState Channel::state() const {
  return core_->state();
}
const Connection& Channel::connection() const {
  return *core_->connection();
}
std::uint64_t Channel::sent() const {
  return core_->session().stream().sent();
}
std::uint64_t Channel::acknowledged() const {
  return core_->session().stream().acknowledged();
}
std::uint64_t Channel::delivered() const {
  return core_->session().delivered();
}
std::uint64_t Channel::resent() const {
  return core_->session().stream().resent();
}
std::uint32_t Channel::message_limit() const {
  return core_->session().peer_limit();
}

}  // namespace rdmove::failover
