// What the host writes into the port, against the whole of the agent's host side: port, envelope, prepare and
// restore, in a guest of fakes. Every question gets one answer, whole and readable, however the stream is
// cut; the guest can always be brought back; and after garbage the next question is understood.
//
// Words: !tick MS, !unplug, !plug, !removed (the kernel has deleted what it was asked to), !answer, !die (of
// the application), !holdout, !holdout-ends, !vf-driver (an RDMA device appears with the NIC).
#include "guestagent/agent/host_service.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>

#include "guestagent/fuzz/quiet.hpp"
#include "guestagent/fuzz/steps.hpp"
#include "guestagent/fuzz/target.hpp"
#include "guestagent/tests/fake_addressing.hpp"
#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent {
namespace {

using fuzz::require;
using protocol::Envelope;
using protocol::RequestId;
using Id = std::optional<RequestId>;

constexpr std::int32_t application = 7;
constexpr milliseconds longest_tick{5'000};  // a restore looks every 5 ms
constexpr std::size_t most_for_a_line = 2048;

/// Counts what is asked and what is answered, by id.
class Accounts {
 public:
  void asked(std::string_view line) {
    ++lines_;
    const auto envelope = protocol::decode(line);
    if (!envelope) {
      if (!envelope.error().was_answer) ++asked_[envelope.error().answer.id];
      return;
    }
    const auto* request = std::get_if<protocol::Request>(&*envelope);
    if (request == nullptr) return;
    ++asked_[request->id];
    const bool begins_anew = request->method == protocol::HelloRequest::method &&
                             protocol::HelloRequest::from_payload(request->params).has_value();
    if (begins_anew) owed_.clear();  // the agent drops what it has not answered yet
    ++owed_[request->id];
  }

  void answered(const Id& id) {
    ++answered_[id];
    require(answered_[id] <= asked_[id], "there is an answer to nothing");
  }

  void check_all_is_answered() const {
    for (const auto& [id, count] : owed_) {
      const auto answers = answered_.find(id);
      require(answers != answered_.end() && answers->second >= count, "a question is not answered");
    }
  }
  [[nodiscard]] std::size_t lines() const { return lines_; }

 private:
  std::map<Id, int> asked_;
  std::map<Id, int> owed_;  // of this session
  std::map<Id, int> answered_;
  std::size_t lines_ = 0;
};

class Guest {
 public:
  explicit Guest(std::size_t piece) : piece_(piece) {
    applications.let_go[application] = false;
    service.start();
    run();
  }
  ~Guest() { ::close(host); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  void say(std::string_view bytes) {
    for (const auto part : fuzz::pieces_of(bytes, piece_)) {
      sent_.push(part, [this](std::string_view line) { accounts.asked(line); });
      require(::write(host, part.data(), part.size()) == static_cast<ssize_t>(part.size()),
              "the agent does not read");
      run();
    }
  }

  void befall(const fuzz::Step& step) {
    if (step.word == "tick") timers.advance(std::min(milliseconds(step.number), longest_tick));
    if (step.word == "unplug") unplug();
    if (step.word == "plug" && !network.link) network.plug(++last_index_, "eth9");
    if (step.word == "vf-driver") find_vf();
    if (step.word == "removed") finish_removals();
    if (step.word == "answer" && applications.let_go.contains(application)) applications.answer(application);
    if (step.word == "die") applications.die(application);
    if (step.word == "holdout") processes.open.push_back({214, "ibv_rc_pingpong", "rxe0"});
    if (step.word == "holdout-ends") processes.open.clear();
    service.links_changed();
    run();
  }

  /// Everything that can be waited for happens.
  void make_whole() {
    for (int stage = 0; stage < 6; ++stage) {
      for (const char* word : {"removed", "answer", "holdout-ends", "plug", "vf-driver"})
        befall({{}, word, 0});
      befall({{}, "tick", 1000});
    }
    timers.advance(protocol::limits::deadline + milliseconds(1000));
    run();
  }

  Accounts accounts;
  std::string heard;  // all of it
  std::vector<Envelope> answers;

 private:
  void run() {
    io.restart();
    while (io.poll() > 0) io.restart();
    std::array<char, 65536> buffer;
    for (;;) {
      const auto size = ::read(host, buffer.data(), buffer.size());
      if (size <= 0) break;
      heard.append(buffer.data(), static_cast<std::size_t>(size));
      received_.push({buffer.data(), static_cast<std::size_t>(size)}, [this](auto line) { take(line); });
    }
    require(heard.size() <= most_for_a_line * (accounts.lines() + 1), "the agent says too much");
  }

  void take(std::string_view line) {
    const auto envelope = protocol::decode(line);
    require(envelope.has_value(), "the agent says what cannot be read");
    if (const auto* response = std::get_if<protocol::Response>(&*envelope)) accounts.answered(response->id);
    if (const auto* error = std::get_if<protocol::ErrorResponse>(&*envelope)) accounts.answered(error->id);
    require(!std::holds_alternative<protocol::Request>(*envelope), "the agent asks the host");
    answers.push_back(*envelope);
  }

  void finish_removals() {
    while (!rdma.removals.empty()) rdma.finish_removal(std::string(rdma.removals.begin()->first));
  }
  // Its RDMA device goes with it.
  void unplug() {
    if (!network.link) return;
    std::erase_if(rdma.devices, [this](const auto& device) { return device.netdev == network.link->name; });
    network.unplug();
  }
  void find_vf() {
    if (!network.link) return;
    std::erase_if(rdma.devices, [](const auto& device) { return device.name == "mlx5_0"; });
    rdma.devices.push_back({"mlx5_0", network.link->name});
  }

  static const std::filesystem::path& folder() {
    static const test::TemporaryFolder folder;
    std::error_code ignored;
    for (const auto& left : std::filesystem::directory_iterator(folder.path))
      std::filesystem::remove(left, ignored);
    return folder.path;
  }
  int port_end() {
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0,
            "socketpair");
    host = ends[0];
    return ends[1];
  }

  const std::size_t piece_;
  int last_index_ = 2;
  protocol::LineSplitter sent_;
  protocol::LineSplitter received_;
  boost::asio::io_context io{1};
  int host = -1;
  test::FakeTimers timers;
  test::FakeNetwork network;
  test::FakeRdma rdma{network};
  test::FakeProcesses processes;
  test::FakeApplications applications;
  test::FakeAnnouncer announcer;
  CaptureStore store{folder(), "boot"};
  test::FakeManagers managers;
  test::FakeAddressEvents address_events;
  test::FakeLeases leases;
  test::FakeRdmaSettings rdma_settings;
  test::FakeGidEvents gid_events;
  Services services{network, rdma,     processes,      applications, announcer,     timers,
                    store,   managers, address_events, leases,       rdma_settings, gid_events};
  RdmaSysfs sysfs{"/nowhere"};
  HostService service{
      io, port_end(), services, sysfs, {protocol::protocol_version, "rdmove", "boot", "instance"}};
};

// What the last answer says, which must be a result.
template <class Message>
Message last_result(const Guest& guest, const RequestId& id) {
  const auto* response =
      guest.answers.empty() ? nullptr : std::get_if<protocol::Response>(&guest.answers.back());
  require(response != nullptr && response->id == id, "the last question has no result");
  const auto message = Message::from_payload(response->result);
  require(message.has_value(), "the last result cannot be read");
  return *message;
}

void ask(Guest& guest, const protocol::Request& request) {
  guest.say("\n" + protocol::encode(request).value());
}

std::string play(const std::vector<fuzz::Step>& steps, std::size_t piece) {
  Guest guest(piece);
  for (const auto& step : steps) step.bytes.empty() ? guest.befall(step) : guest.say(step.bytes);
  guest.make_whole();
  guest.accounts.check_all_is_answered();

  ask(guest, protocol::request(RequestId{"last hello"}, protocol::HelloRequest{1, "rdmove", "hosta"}));
  (void)last_result<protocol::HelloAnswer>(guest, RequestId{"last hello"});
  ask(guest, protocol::request(RequestId{"last status"}, protocol::StatusRequest{}));
  const auto status = last_result<protocol::StatusResult>(guest, RequestId{"last status"});
  if (!status.prepared) return guest.heard;
  ask(guest, protocol::request(RequestId{"last restore"},
                               protocol::RestoreRequest{*status.prepared, milliseconds(1000), {test::soft}}));
  guest.make_whole();
  (void)last_result<protocol::RestoreResult>(guest, RequestId{"last restore"});
  return guest.heard;
}

}  // namespace
}  // namespace rdmove::agent

void rdmove::fuzz::run(std::span<const std::uint8_t> input) {
  quiet();
  const auto steps = steps_in(input);
  require(agent::play(steps, 1024) == agent::play(steps, 5), "the answers depend on how the stream is cut");
}
