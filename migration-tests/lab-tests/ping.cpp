#include "ping.hpp"

#include <sstream>

namespace rdmove::lab {
namespace {

/// The fixture's commands are protected; this is a guest's shell for those who are no fixture.
struct Shell : Lab {
  void TestBody() override {}
  using Lab::guest;
  using Lab::within;
};

std::vector<nlohmann::json> lines(const std::string& text) {
  std::vector<nlohmann::json> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    auto one = nlohmann::json::parse(line, nullptr, false);
    if (one.is_object()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Ping::Ping(std::string vm, std::string name, const std::string& words)
    : vm_(std::move(vm)), name_(std::move(name)) {
  Shell::guest(vm_, "rm -f /run/" + name_ + ".*; (rdmove-ping " + words + " --status-file " + file("json") +
                        " >" + file("log") + " 2>&1 </dev/null & echo $! >" + file("pid") +
                        "; wait $!; echo $? >" + file("status") + ") >/dev/null 2>&1 &");
  // The first status is written once a server listens.
  EXPECT_TRUE(Shell::within(seconds(20), [this] { return !totals().empty(); })) << log();
}

Ping::~Ping() {
  if (!finished_) send_signal("KILL");
}

bool Ping::runs() const {
  return Shell::guest(vm_, "kill -0 $(cat " + file("pid") + ")").status == 0;
}

void Ping::send_signal(const std::string& signal) const {
  Shell::guest(vm_, "kill -" + signal + " $(cat " + file("pid") + ")");
}

std::string Ping::log() const {
  return Shell::guest(vm_, "tail -n 30 " + file("log")).output;
}

nlohmann::json Ping::totals() const {
  const auto all = lines(Shell::guest(vm_, "head -n 1 " + file("json")).output);
  return all.empty() ? nlohmann::json::object() : all.front();
}

std::vector<nlohmann::json> Ping::connections() const {
  auto all = lines(Shell::guest(vm_, "cat " + file("json")).output);
  if (!all.empty()) all.erase(all.begin());
  return all;
}

Outcome Ping::finish() {
  finished_ = true;
  send_signal("INT");
  Shell::within(seconds(20),
                [this] { return Shell::guest(vm_, "[ -s " + file("status") + " ]").status == 0; });
  Outcome outcome;
  outcome.output = log();
  const std::string status = Shell::guest(vm_, "cat " + file("status")).output;
  outcome.status = status.empty() ? -1 : std::atoi(status.c_str());
  if (status.empty()) send_signal("KILL");
  return outcome;
}

void expectFlows(const Ping& client, std::uint64_t connections, seconds limit) {
  const auto delivered = [&] {
    std::vector<std::uint64_t> each;
    for (const auto& one : client.connections())
      if (one.value("state", "") == "up") each.push_back(one.value("delivered", std::uint64_t{0}));
    return each;
  };
  std::vector<std::uint64_t> before;
  EXPECT_TRUE(Shell::within(limit, [&] { return (before = delivered()).size() == connections; }))
      << "not all connections are up: " << client.totals().dump() << client.log();
  EXPECT_TRUE(Shell::within(limit,
                            [&] {
                              const auto now = delivered();
                              if (now.size() != before.size()) return false;
                              for (std::size_t index = 0; index < now.size(); ++index)
                                if (now[index] <= before[index]) return false;
                              return true;
                            }))
      << "no messages come back: " << client.totals().dump() << client.log();
}

void expectClean(Ping& client) {
  const Outcome ended = client.finish();
  EXPECT_EQ(ended.status, 0) << client.vm() << ": " << ended.output;
  EXPECT_NE(ended.output.find("lost 0, duplicated 0, reordered 0, corrupted 0"), std::string::npos)
      << ended.output;
}

void expectCleanServer(const Ping& server) {
  const auto totals = server.totals();
  for (const char* fault : {"lost", "duplicated", "reordered", "corrupted"})
    EXPECT_EQ(totals.value(fault, -1), 0) << server.vm() << ": " << fault << ": " << totals.dump();
  EXPECT_GT(totals.value("delivered", 0), 0) << totals.dump();
}

}  // namespace rdmove::lab
