// Functions of a shared port, on the host where this program runs. Reads commands and answers each with one
// line:
//
//   add F GID                              ok
//   join F GROUP, leave F GROUP            status=0 mlid=0xc001 wire=1
//   subscribe F TRAP, unsubscribe F TRAP   the same
//   take_out F                             the state in hexadecimal digits
//   put_in F GID STATE                     ok, and what the port asked for by itself: wire=1
//   ask_again                              as after another subnet manager took over: ok wire=1
//   paths COUNT GUID STEP                  COUNT functions all ask at once for the path to a port GUID of
//   their own: a line
//                                          "path F GID LID" for each answer, then the sums
//
// "wire" is how many MADs left the port for a command.
#include <iostream>
#include <map>
#include <sstream>

#include "shadowdev/gsi/shared_port.hpp"
#include "shadowdev/gsi/tests/mads.hpp"
#include "shadowdev/gsi/umad/umad_port.hpp"

namespace rdmove::gsi {
namespace {

using test::tid;

class SteadyTime final : public Timekeeper {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

class Program {
 public:
  explicit Program(std::unique_ptr<UmadPort> umad) : umad_(std::move(umad)), port_(options(*umad_), time_) {}

  std::string run(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    unsigned number = 0;
    words >> command >> number;
    const auto function = FunctionId{static_cast<std::uint8_t>(number)};
    if (command == "add") return add(function, read_gid(words));
    if (command == "join") return member(function, Method::Set, read_gid(words));
    if (command == "leave") return member(function, Method::Delete, read_gid(words));
    if (command == "subscribe") return inform(function, words, true);
    if (command == "unsubscribe") return inform(function, words, false);
    if (command == "take_out") return take_out(function);
    if (command == "put_in") return put_in(function, words);
    if (command == "ask_again") return ask_again();
    if (command == "paths") return paths(number, words);
    return "no such command: " + command;
  }

 private:
  static PortOptions options(const UmadPort& umad) {
    PortOptions all;
    all.gid = umad.gid();
    all.subnet_manager = umad.subnet_manager();
    all.subnet_manager_service_level = umad.subnet_manager_service_level();
    // One request is one MAD, however slow the machine is: "wire" counts them.
    all.multicast.attempt = all.subscriptions.attempt = milliseconds{20'000};
    all.seed = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    return all;
  }
  static Gid read_gid(std::istringstream& words) {
    std::string text;
    words >> text;
    return Gid::parse(text).value_or(Gid{});
  }
  Datagram to_administrator(Mad mad) {
    mad.set_transaction(tid(++next_id_));
    Datagram datagram;
    datagram.mad = mad;
    datagram.remote = umad_->subnet_manager();
    return datagram;
  }
  /// Lets the wire work until nothing is under way, or 15 s have passed. How many MADs left.
  unsigned settle() {
    unsigned sent = 0;
    const auto deadline = time_.now() + std::chrono::seconds(15);
    do {
      while (const auto next = port_.to_wire()) {
        if (umad_->send(*next)) ++sent;
      }
      if (port_.outstanding(kPortItself) == 0) break;
      if (const auto got = umad_->receive(milliseconds{100})) port_.from_wire(*got);
      port_.tick();
    } while (time_.now() < deadline);
    return sent;
  }
  std::string add(FunctionId function, const Gid& gid) {
    gids_[function] = gid;
    const auto added = port_.add_function(function, {gid});
    return added ? "ok" : added.error().message;
  }
  std::string asked(FunctionId function, const Datagram& request) {
    port_.from_function(function, request);
    const unsigned wire = settle();
    std::ostringstream line;
    const auto answer = port_.to_function(function);
    if (!answer || answer->mad.transaction() != request.mad.transaction()) return "no answer";
    line << "status=" << answer->mad.status() << std::hex << " mlid=0x"
         << member_record(answer->mad).multicast_lid << std::dec << " wire=" << wire;
    return line.str();
  }
  std::string member(FunctionId function, Method method, const Gid& group) {
    McMemberRecord record;
    record.group = group;
    record.port = gids_[function];
    record.join_state = kFullMember;
    record.queue_key = 0x0B1B;
    record.partition_key = 0xFFFF;
    Mad mad =
        Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, method, attribute::kMcMemberRecord);
    set_component_mask(
        mad, member::kGroup | member::kPort | member::kJoinState |
                 (method == Method::Set ? member::kQueueKey | member::kPartitionKey | member::kTrafficClass |
                                              member::kServiceLevel | member::kFlowLabel
                                        : 0U));
    set_member_record(mad, record);
    return asked(function, to_administrator(mad));
  }
  std::string inform(FunctionId function, std::istringstream& words, bool on) {
    InformInfo info;
    words >> info.trap_or_device;
    info.is_subscribe = on;
    Mad mad = Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, Method::Set,
                        attribute::kInformInfo);
    set_inform_info(mad, info);
    return asked(function, to_administrator(mad));
  }
  std::string take_out(FunctionId function) {
    const auto state = port_.take_out(function);
    if (!state) return state.error().message;
    settle();
    std::ostringstream line;
    const auto bytes = serialise(*state).value();
    for (const std::byte byte : bytes) {
      line << std::hex << (std::to_integer<unsigned>(byte) >> 4U) << (std::to_integer<unsigned>(byte) & 15U);
    }
    return line.str();
  }
  std::string put_in(FunctionId function, std::istringstream& words) {
    gids_[function] = read_gid(words);
    std::string hex;
    words >> hex;
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    const auto state = parse(bytes);
    if (!state) return state.error().message;
    const auto in = port_.put_in(function, {gids_[function]}, *state);
    if (!in) return in.error().message;
    const std::string wire = "ok wire=" + std::to_string(settle());
    return port_.next_event() ? wire + " and something was lost" : wire;
  }
  std::string ask_again() {
    port_.subnet_manager_changed(umad_->subnet_manager(), umad_->subnet_manager_service_level());
    const std::string wire = "ok wire=" + std::to_string(settle());
    return port_.next_event() ? wire + " and something was lost" : wire;
  }

  std::string paths(unsigned count, std::istringstream& words) {
    std::uint64_t guid = 0;
    std::uint64_t step = 0;
    words >> std::hex >> guid >> step;
    const auto gid_of = [&](unsigned f) { return Gid::from(test::kPrefix, guid + f * step); };
    for (unsigned f = 0; f < count; ++f) {
      const auto function = FunctionId{static_cast<std::uint8_t>(f)};
      if (!port_.add_function(function, {Gid::from(test::kPrefix, 0xF000 + f)}))
        return "a function is not added";
      Mad mad = Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, Method::Get,
                          attribute::kPathRecord);
      set_component_mask(mad, 1U << 2U | 1U << 3U | 1U << 12U);  // DGID, SGID, NumbPath
      put_bytes<kSaDataOffset + 8>(mad.bytes(), gid_of(f).bytes());
      put_bytes<kSaDataOffset + 24>(mad.bytes(), umad_->gid().bytes());
      mad.set_field<kSaDataOffset + 49>(std::uint8_t{1});
      Datagram request = to_administrator(mad);
      // One number for all, the upper half too, as 200 copies of one driver would choose it.
      request.mad.set_transaction(tid(0x1122334455667788));
      port_.from_function(function, request);
    }
    const auto begin = time_.now();
    unsigned sent = 0;
    while (const auto next = port_.to_wire()) sent += umad_->send(*next) ? 1 : 0;
    unsigned answered = 0;
    unsigned misdelivered = 0;
    while (answered + misdelivered < count) {
      const auto got = umad_->receive(milliseconds{5000});
      if (!got) break;
      port_.from_wire(*got);
      while (const auto next = port_.to_functions()) {
        const auto f = static_cast<unsigned>(next->owner);
        const Mad& mad = next->datagram.mad;
        const Gid asked(get_bytes<kSaDataOffset + 8, 16>(mad.bytes()));
        const bool is_good =
            mad.status() == 0 && asked == gid_of(f) && mad.transaction() == tid(0x1122334455667788);
        ++(is_good ? answered : misdelivered);
        std::cout << "path " << f << ' ' << asked.text() << ' '
                  << mad.field<kSaDataOffset + 40, std::uint16_t>() << '\n';
      }
    }
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(time_.now() - begin);
    std::ostringstream line;
    line << "sent=" << sent << " answered=" << answered << " misdelivered=" << misdelivered
         << " microseconds=" << took.count();
    return line.str();
  }

  SteadyTime time_;
  std::unique_ptr<UmadPort> umad_;
  SharedPort port_;
  std::map<FunctionId, Gid> gids_;
  std::uint64_t next_id_ = 0;
};

}  // namespace
}  // namespace rdmove::gsi

int main() {
  auto umad = rdmove::gsi::UmadPort::open();
  if (!umad) {
    std::cout << umad.error().message << std::endl;
    return 1;
  }
  rdmove::gsi::Program program(std::move(*umad));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) std::cout << program.run(line) << std::endl;
}
