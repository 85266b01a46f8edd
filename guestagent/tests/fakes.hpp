// A guest made of maps, for the logic's tests: time, devices, processes and applications move when a test
// says so.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "guestagent/agent/gid.hpp"
#include "guestagent/agent/services.hpp"

namespace rdmove::agent::test {

inline const MacAddress mac = *MacAddress::parse("52:54:00:00:00:01");
inline const protocol::DeviceTarget soft{"ua-rdma0", mac, DeviceKind::SoftRoce};
inline const protocol::DeviceTarget vf{"ua-rdma0", mac, DeviceKind::Vf};

class FakeTimers final : public Timers {
  struct Armed final : Timer {
    explicit Armed(std::function<void()> c) : call(std::make_shared<std::function<void()>>(std::move(c))) {}
    std::shared_ptr<std::function<void()>> call;
  };

 public:
  milliseconds now() override { return now_; }

  std::unique_ptr<Timer> after(milliseconds delay, std::function<void()> call) override {
    auto timer = std::make_unique<Armed>(std::move(call));
    armed_.emplace(now_ + delay, timer->call);
    return timer;
  }

  void advance(milliseconds by) {
    const auto end = now_ + by;
    while (!armed_.empty() && armed_.begin()->first <= end) {
      const auto [when, weak] = *armed_.begin();
      armed_.erase(armed_.begin());
      now_ = std::max(now_, when);
      if (const auto call = weak.lock()) (*call)();
    }
    now_ = end;
  }

  [[nodiscard]] bool idle() const {
    return std::all_of(armed_.begin(), armed_.end(),
                       [](const auto& timer) { return timer.second.expired(); });
  }

 private:
  milliseconds now_{1000};
  std::multimap<milliseconds, std::weak_ptr<std::function<void()>>> armed_;
};

class FakeNetwork final : public NetworkState {
 public:
  std::optional<LinkInfo> link = LinkInfo{2, "eth0", mac, 1500, true, true, {}, 0};
  CapturedLink state{2, "eth0", mac, 1500, true, {{"10.0.0.5/24", {1}}}, {{"default", {2}}}, {}, {}, {}};
  std::vector<std::string> present{"10.0.0.5/24"};
  std::vector<std::string> lost;  // what the next bring_up cannot put back
  int routes_refused = 0;         // how many times
  int brought_up = 0;
  int captures = 0;
  std::optional<CapturedLink> put_back;

  void unplug() { link.reset(); }
  void plug(int index, const std::string& name) {
    link = LinkInfo{index, name, mac, 1500, false, true, {}, 0};
    present.clear();
  }

  std::optional<LinkInfo> find(const DeviceIdentity& wanted, DeviceKind) override {
    return wanted == DeviceIdentity(mac) ? link : std::nullopt;
  }
  std::vector<LinkInfo> links() override { return link ? std::vector{*link} : std::vector<LinkInfo>{}; }
  std::vector<std::string> addresses(int) override { return present; }
  Result<CapturedLink> capture(const LinkInfo&) override {
    ++captures;
    return state;
  }

  BroughtUp bring_up(const LinkInfo& to, const CapturedLink& captured) override {
    ++brought_up;
    put_back = captured;
    link->name = captured.netdev;
    link->up = true;
    BroughtUp out;
    out.lost_addresses = lost;
    if (lost.empty()) {
      for (const auto& address : captured.addresses) present = {address.text};
    }
    out.links.push_back({to.index, captured.netdev, mac, present, captured.index, {}, {}});
    return out;
  }
  std::vector<std::string> put_routes(const std::vector<RestoredLink>&, const CapturedLink&) override {
    return routes_refused-- > 0 ? std::vector<std::string>{"default"} : std::vector<std::string>{};
  }
};

class FakeRdma final : public RdmaLinks {
 public:
  explicit FakeRdma(FakeNetwork& network) : network_(network) {}

  std::vector<RdmaDevice> devices{{"rxe0", "eth0"}};
  bool gids_are_there = true;
  std::string refuses_to_add;
  std::uint64_t packets = 7;             // that each device has counted
  std::map<std::string, Done> removals;  // not finished yet
  std::vector<std::string> log;

  std::vector<RdmaDevice> list() override { return devices; }
  std::vector<protocol::GidEntry> gids(const std::string&, const std::vector<std::string>&) override {
    std::vector<protocol::GidEntry> out;
    if (!gids_are_there) return out;
    for (const auto& address : network_.present) out.push_back({1, gid_of_address(address), "RoCE v2"});
    return out;
  }
  std::optional<protocol::SubnetPort> port{};
  std::optional<protocol::SubnetPort> subnet_port(const std::string&) override { return port; }
  std::vector<protocol::DeviceCounters> counters() override {
    std::vector<protocol::DeviceCounters> out;
    for (const auto& device : devices) out.push_back({device.name, 1, {}, {"", {{"packets_in", packets}}}});
    return out;
  }
  std::vector<std::string> remote;
  std::vector<std::string> remote_addresses() override { return remote; }
  Result<void> add_soft_roce(const std::string& name, const std::string& netdev) override {
    if (!refuses_to_add.empty()) return protocol::fail(protocol::ErrorCode::InternalError, refuses_to_add);
    if (removals.contains(name)) return protocol::fail(protocol::ErrorCode::InternalError, "name is in use");
    log.push_back("add " + name);
    devices.push_back({name, netdev});
    return {};
  }
  // As the kernel: invisible at once, finished when nobody holds it.
  void remove(const std::string& name, Done done) override {
    log.push_back("remove " + name);
    std::erase_if(devices, [&](const auto& device) { return device.name == name; });
    removals[name] = std::move(done);
  }
  void finish_removal(const std::string& name, const Result<void>& result = {}) {
    const auto done = std::move(removals.at(name));
    removals.erase(name);
    done(result);
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::any_of(devices.begin(), devices.end(),
                       [&](const auto& device) { return device.name == name; });
  }

 private:
  FakeNetwork& network_;
};

class FakeProcesses final : public Processes {
 public:
  std::vector<protocol::Holdout> open;
  std::vector<protocol::Holdout> channels;

  std::vector<protocol::Holdout> holding(const std::vector<std::string>& names) override {
    auto out = open;
    std::erase_if(out, [&](const auto& holder) {
      return !names.empty() && std::find(names.begin(), names.end(), holder.device) == names.end();
    });
    return out;
  }
  std::vector<protocol::Holdout> holding_a_channel() override { return channels; }
};

class FakeApplications final : public Applications {
 public:
  std::map<std::int32_t, bool> let_go;  // pid -> has answered
  std::vector<std::string> told;

  std::size_t count() const override { return let_go.size(); }
  std::vector<std::int32_t> pids() const override {
    std::vector<std::int32_t> out;
    for (const auto& [pid, answered] : let_go) out.push_back(pid);
    return out;
  }
  std::vector<protocol::ApplicationInfo> list() const override {
    std::vector<protocol::ApplicationInfo> out;
    for (const auto& [pid, answered] : let_go) {
      protocol::ApplicationInfo info;
      info.pid = pid;
      info.name = "app";
      info.hold = answered ? protocol::Hold::Released : protocol::Hold::Asked;
      out.push_back(std::move(info));
    }
    return out;
  }
  void quiesce(const protocol::MigrationId&, milliseconds, std::function<void()> on_all_released) override {
    told.emplace_back("quiesce");
    on_all_released_ = std::move(on_all_released);
    check();
  }
  void answer(std::int32_t pid) {
    let_go[pid] = true;
    check();
  }
  void die(std::int32_t pid) {
    let_go.erase(pid);
    check();
  }
  std::vector<protocol::Holdout> unreleased() const override {
    std::vector<protocol::Holdout> out;
    for (const auto& [pid, answered] : let_go) {
      if (!answered) out.push_back({pid, "app", {}});
    }
    return out;
  }
  std::vector<std::int32_t> released() const override {
    std::vector<std::int32_t> out;
    for (const auto& [pid, answered] : let_go) {
      if (answered) out.push_back(pid);
    }
    return out;
  }
  void removed() override { told.emplace_back("removed"); }
  void resume() override { end("resume"); }
  void ready(const protocol::MigrationId&, const std::vector<std::string>&) override { end("ready"); }

 private:
  void check() {
    if (on_all_released_ && unreleased().empty()) std::exchange(on_all_released_, nullptr)();
  }
  void end(const char* word) {
    on_all_released_ = nullptr;
    told.emplace_back(word);
  }
  std::function<void()> on_all_released_;
};

class FakeAnnouncer final : public Announcer {
 public:
  std::vector<std::string> announced;
  void announce(const RestoredLink& link) override {
    announced.insert(announced.end(), link.addresses.begin(), link.addresses.end());
  }
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rdmove-test-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace rdmove::agent::test
