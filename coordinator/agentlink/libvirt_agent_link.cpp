#include <utility>
//
#include "coordinator/agentlink/libvirt_agent_link.hpp"

#include <boost/asio/post.hpp>

#include "coordinator/agentlink/agent_session.hpp"
#include "coordinator/agentlink/guest_answers.hpp"
#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/move.hpp"

namespace rdmove {
namespace {

class Link final : public AgentLink {
 public:
  Link(std::shared_ptr<AgentSession> session, boost::asio::io_context& loop, AgentLinkLimits limits)
      : session_(std::move(session)), loop_(loop), limits_(limits) {}
  ~Link() override { session_->shutdown(); }

  void prepare(const MigrationId& id, const std::vector<AgentDevice>& devices, Milliseconds deadline,
               bool force, Done<PrepareOutcome> done) override {
    const auto migration = protocol::MigrationId::parse(id.str());
    const auto targets = targetsOf(devices);
    if (!migration) return refuse(std::move(done), "migration id: " + migration.error().message);
    if (!targets) return refuse(std::move(done), targets.error().cause);
    const protocol::PrepareRequest request{*migration, deadline, force, *targets};
    ask(request, deadline + limits_.grace, std::move(done), prepareOutcome);
  }

  void restore(const MigrationId& id, const std::vector<AgentDevice>& devices, Milliseconds deadline,
               Done<RestoreOutcome> done) override {
    const auto migration = protocol::MigrationId::parse(id.str());
    const auto targets = targetsOf(devices);
    if (!migration) return refuse(std::move(done), "migration id: " + migration.error().message);
    if (!targets) return refuse(std::move(done), targets.error().cause);
    const protocol::RestoreRequest request{*migration, deadline, *targets};
    ask(request, deadline + limits_.grace, std::move(done), restoreOutcome);
  }

  void holdouts(Milliseconds deadline, Done<std::vector<Holdout>> done) override {
    ask(protocol::HoldoutsRequest{}, deadline, std::move(done), holdoutsAnswer);
  }

  void traffic(Milliseconds deadline, Done<Traffic> done) override {
    ask(protocol::CountersRequest{}, deadline, std::move(done), trafficAnswer);
  }

  void applications(Milliseconds deadline, Done<std::vector<AgentApplication>> done) override {
    ask(protocol::AppsRequest{}, deadline, std::move(done), applicationsAnswer);
  }

  void query(const std::string& method, Milliseconds deadline, Done<std::string> done) override {
    const auto read = [method](const Answer& answer) { return queryAnswer(method, answer); };
    if (method == protocol::StatusRequest::method) {
      ask(protocol::StatusRequest{}, deadline, std::move(done), read);
    } else if (method == protocol::CountersRequest::method) {
      ask(protocol::CountersRequest{}, deadline, std::move(done), read);
    } else if (method == protocol::HoldoutsRequest::method) {
      ask(protocol::HoldoutsRequest{}, deadline, std::move(done), read);
    } else if (method == protocol::AppsRequest::method) {
      ask(protocol::AppsRequest{}, deadline, std::move(done), read);
    } else if (method == protocol::PeersRequest::method) {
      ask(protocol::PeersRequest{}, deadline, std::move(done), read);
    } else {
      refuse(std::move(done),
             "an agent is asked for status, apps, counters, holdouts or peers, not for '" + method + "'");
    }
  }

  void setPaused(bool paused) override { session_->setPaused(paused); }

 private:
  template <class Message, class T, class Read>
  void ask(const Message& message, Milliseconds deadline, Done<T> done, Read read) {
    session_->request(std::string(Message::method), message.to_payload(), deadline,
                      [done = std::move(done), read](Result<Answer> answer) {
                        done(answer ? read(*answer) : Result<T>(tl::unexpected(answer.error())));
                      });
  }

  template <class T>
  void refuse(Done<T> done, std::string cause) {
    boost::asio::post(
        loop_, [alive = std::weak_ptr<void>(alive_), done = std::move(done), cause = std::move(cause)] {
          if (!alive.expired()) done(failure(ErrorCode::kBadInput, "ask the agent", cause));
        });
  }

  const std::shared_ptr<AgentSession> session_;
  boost::asio::io_context& loop_;
  const AgentLinkLimits limits_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

class Links final : public AgentLinks {
 public:
  Links(Hypervisor& hypervisor, boost::asio::io_context& loop, boost::asio::thread_pool& workers,
        AgentLinkLimits limits)
      : hypervisor_(hypervisor), loop_(loop), workers_(workers), limits_(limits) {}

  std::unique_ptr<AgentLink> open(const DomainUuid& domain) override {
    auto session = std::make_shared<AgentSession>(hypervisor_, loop_, workers_, domain, limits_);
    session->start();
    return std::make_unique<Link>(std::move(session), loop_, limits_);
  }

 private:
  Hypervisor& hypervisor_;
  boost::asio::io_context& loop_;
  boost::asio::thread_pool& workers_;
  const AgentLinkLimits limits_;
};

}  // namespace

std::unique_ptr<AgentLinks> makeAgentLinks(Hypervisor& hypervisor, boost::asio::io_context& loop,
                                           boost::asio::thread_pool& workers, AgentLinkLimits limits) {
  return std::make_unique<Links>(hypervisor, loop, workers, limits);
}

}  // namespace rdmove
