// A hypervisor whose only call is openChannel, and a guest at the other end that says what the test lets it
// say. The workers are real threads, everything else runs on the test's thread: run() serves the loop until
// `until`.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/agentlink/libvirt_agent_link.hpp"

namespace rdmove::testing_support {

using nlohmann::json;

/// What both ends of one opened channel share.
struct Wire {
  std::mutex mutex;
  std::vector<std::string> lines;  ///< from the host, whole
  std::string partial;
  ChannelListener* listener = nullptr;  ///< null: the host has closed
  bool refuse = false;                  ///< send() answers kExhausted
};

class FakeChannel : public ByteChannel {
 public:
  explicit FakeChannel(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  ~FakeChannel() override { close(); }
  Result<void> send(std::string bytes) override {
    const std::lock_guard lock(wire_->mutex);
    if (wire_->refuse) return failure(ErrorCode::kExhausted, "send", "full");
    for (const char c : bytes) {
      if (c != '\n') {
        wire_->partial += c;
      } else if (!wire_->partial.empty()) {
        wire_->lines.push_back(std::exchange(wire_->partial, {}));
      }
    }
    return {};
  }
  void close() override {
    const std::lock_guard lock(wire_->mutex);
    wire_->listener = nullptr;
  }

 private:
  std::shared_ptr<Wire> wire_;
};

class FakeHypervisor : public Hypervisor {
 public:
  Result<std::unique_ptr<ByteChannel>> openChannel(const DomainUuid&, const std::string& port,
                                                   ChannelListener& listener) override {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(port, "org.rdmove.agent.0");
    ++opens;
    if (!errors.empty()) {
      const Error error = errors.front();
      if (!errors_stay) errors.pop_front();
      return tl::unexpected(error);
    }
    auto wire = std::make_shared<Wire>();
    wire->listener = &listener;
    wires.push_back(wire);
    return std::make_unique<FakeChannel>(wire);
  }

  std::size_t wireCount() {
    const std::lock_guard lock(mutex);
    return wires.size();
  }
  std::shared_ptr<Wire> last() {
    const std::lock_guard lock(mutex);
    return wires.back();
  }

  std::mutex mutex;
  std::deque<Error> errors;
  bool errors_stay = false;
  int opens = 0;
  std::vector<std::shared_ptr<Wire>> wires;

  // Nobody asks these here.
  Result<DomainStatus> find(const std::string&) override { return no(); }
  Result<std::vector<DomainStatus>> list() override { return no(); }
  Result<std::string> xml(const DomainUuid&, XmlKind) override { return no(); }
  Result<void> define(const std::string&) override { return no(); }
  Result<std::optional<std::string>> metadata(const DomainUuid&, XmlKind) override { return no(); }
  Result<void> setMetadata(const DomainUuid&, XmlKind, const std::optional<std::string>&) override {
    return no();
  }
  Result<void> detach(const DomainUuid&, const DeviceAlias&) override { return no(); }
  Result<void> attach(const DomainUuid&, const std::string&) override { return no(); }
  Result<void> migrate(const MigrationRequest&) override { return no(); }
  Result<void> startPostcopy(const DomainUuid&) override { return no(); }
  Result<void> abortJob(const DomainUuid&) override { return no(); }
  Result<JobProgress> progress(const DomainUuid&) override { return no(); }
  Result<void> resume(const DomainUuid&) override { return no(); }
  Result<void> suspend(const DomainUuid&) override { return no(); }
  Result<void> destroy(const DomainUuid&) override { return no(); }
  Result<std::string> version() override { return no(); }

 private:
  static tl::unexpected<Error> no() { return failure(ErrorCode::kInternal, "", "not in this fake"); }
};

class AgentLinkFixture : public ::testing::Test {
 protected:
  AgentLinkFixture() {
    limits_.grace = std::chrono::milliseconds(100);
    limits_.first_backoff = std::chrono::milliseconds(2);
    limits_.longest_backoff = std::chrono::milliseconds(10);
    limits_.conflict = std::chrono::milliseconds(30);
    limits_.hello_again = std::chrono::milliseconds(500);
  }
  ~AgentLinkFixture() override { workers_.join(); }

  void openLink() {
    links_ = makeAgentLinks(hypervisor_, loop_, workers_, limits_);
    link_ = links_->open(DomainUuid("3a1c8f52-1111-4222-8333-0a0b0c0d0e0f"));
  }

  /// Serves the loop until it is so, at most 5 s. The loop has work when a worker posts to it.
  bool run(const std::function<bool()>& until) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < limit) {
      if (until()) return true;  // once: it may take what it finds
      loop_.restart();
      loop_.run_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  void runFor(std::chrono::milliseconds time) {
    for (const auto limit = std::chrono::steady_clock::now() + time;
         std::chrono::steady_clock::now() < limit;) {
      loop_.restart();
      loop_.run_for(std::chrono::milliseconds(1));
    }
  }

  void say(const std::string& bytes) {
    const auto wire = hypervisor_.last();
    const std::lock_guard lock(wire->mutex);
    if (wire->listener != nullptr) wire->listener->onBytes(bytes);
  }
  void sayLine(const json& object) { say(object.dump() + "\n"); }
  void hangUp() {
    const auto wire = hypervisor_.last();
    const std::lock_guard lock(wire->mutex);
    if (auto* listener = std::exchange(wire->listener, nullptr)) listener->onClosed("the domain left");
  }

  /// The next request of this method on the last channel; consumed.
  json next(const std::string& method) {
    json found;
    const bool came = run([&] {
      if (hypervisor_.wireCount() == 0) return false;
      const auto wire = hypervisor_.last();
      const std::lock_guard lock(wire->mutex);
      for (auto it = wire->lines.begin(); it != wire->lines.end(); ++it) {
        const json line = json::parse(*it);
        if (line.at("method") != method) continue;
        found = line;
        wire->lines.erase(it);
        return true;
      }
      return false;
    });
    EXPECT_TRUE(came) << "the host did not send " << method;
    return found;
  }
  std::size_t waiting() {
    const auto wire = hypervisor_.last();
    const std::lock_guard lock(wire->mutex);
    return wire->lines.size();
  }

  static json hello(int version = 1, const std::string& instance = "i1") {
    return {
        {"version", version}, {"software", "rdmove-agent 0.1.0"}, {"boot_id", "b"}, {"instance", instance}};
  }
  static json result(const json& request, const json& value) {
    return {{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", value}};
  }
  static json error(const json& request, int code, const std::string& message,
                    const json& data = json::object()) {
    return {{"jsonrpc", "2.0"},
            {"id", request.at("id")},
            {"error", {{"code", code}, {"message", message}, {"data", data}}}};
  }
  void greet() { sayLine(result(next("hello"), hello())); }

  void askHoldouts(std::chrono::milliseconds deadline = std::chrono::seconds(5)) {
    link_->holdouts(deadline,
                    [this](Result<std::vector<Holdout>> answer) { answers_.push_back(std::move(answer)); });
  }
  bool answered(std::size_t count = 1) {
    return run([&] { return answers_.size() >= count; });
  }

  boost::asio::io_context loop_;
  boost::asio::thread_pool workers_{2};
  FakeHypervisor hypervisor_;
  AgentLinkLimits limits_;
  std::unique_ptr<AgentLinks> links_;
  std::unique_ptr<AgentLink> link_;
  std::vector<Result<std::vector<Holdout>>> answers_;
};

}  // namespace rdmove::testing_support
