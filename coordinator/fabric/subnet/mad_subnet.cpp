#include "coordinator/fabric/subnet/mad_subnet.hpp"

#include <fmt/format.h>
#include <infiniband/mad.h>

#include <endian.h>
#include <infiniband/umad.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace rdmove {
namespace {

using Bytes = std::array<std::uint8_t, IB_SA_DATA_SIZE>;

constexpr int kNoRecords = 0x0300;  // SA-specific status (IBA table 187)

// Offsets and component masks of the attributes of IBA 15.2.5 that libibmad has no fields for.
constexpr std::uint64_t kPathToGid = 1U << 2, kPathFromGid = 1U << 3, kPathReversible = 1U << 11,
                        kPathCount = 1U << 12;
constexpr std::uint64_t kNodeLid = 1U << 0, kNodePortGuid = 1U << 8;
constexpr std::uint64_t kLinkFromLid = 1U << 0, kLinkFromPort = 1U << 1;
constexpr std::uint64_t kMemberGroup = 1U << 0, kMemberPort = 1U << 1, kMemberState = 1U << 16;
constexpr std::uint64_t kGuidsLid = 1U << 0, kGuidsBlock = 1U << 1, kGuidsRow = 1U << 4;

// Where things are in a record.
constexpr std::size_t kPathTo = 8, kPathFrom = 24, kPathToLid = 40, kPathFromLid = 42, kPathCountAt = 49,
                      kPathPkey = 50;
constexpr std::size_t kNodeGuidAt = 16, kNodePortGuidAt = 24;
constexpr std::size_t kMemberPortAt = 16, kMemberStateAt = 48;
constexpr std::size_t kGuidsAt = 8, kGuidsInBlock = 8;

void put(Bytes& at, std::size_t offset, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    at.at(offset + i) = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
}
std::uint64_t get(const Bytes& at, std::size_t offset, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | at.at(offset + i);
  return value;
}
void put(Bytes& at, std::size_t offset, const Gid& gid) {
  std::copy(gid.bytes().begin(), gid.bytes().end(), at.begin() + static_cast<std::ptrdiff_t>(offset));
}

struct Question {
  std::string what;  // "ask for a path to fe80:..."
  unsigned attribute = 0;
  unsigned method = IB_MAD_METHOD_GET;
  std::uint64_t mask = 0;
  Bytes record{};
};

std::string reason(int status) {
  switch (status) {
    case 0x0100:
      return "the SA has no room for it";
    case 0x0200:
      return "the SA finds the request invalid: another partition, or a port that it does not know";
    case 0x0400:
      return "the SA has more than one";
    case 0x0500:
      return "the SA takes the GID for invalid";
    case 0x0600:
      return "the SA misses a component";
    case 0x0700:
      return "the SA denies it";
    default:
      return fmt::format("the answer's status is {:#06x}", status);
  }
}

class MadSubnet final : public Subnet {
 public:
  MadSubnet(ibmad_port* port, const MadSubnetOptions& options, std::string adapter)
      : port_(port), options_(options), adapter_(std::move(adapter)) {}
  ~MadSubnet() override { mad_rpc_close_port(port_); }
  MadSubnet(const MadSubnet&) = delete;
  MadSubnet& operator=(const MadSubnet&) = delete;

  Result<Lid> self() override {
    return own().map([](const Own& own) { return own.lid; });
  }
  Result<std::uint64_t> prefix() override {
    return own().map([](const Own& own) { return own.gid.prefix(); });
  }

  Result<std::optional<Path>> path(const Gid& to) override {
    const auto self = own();
    if (!self) return tl::unexpected(self.error());
    Question question{"ask for a path to " + to.str(), IB_SA_ATTR_PATHRECORD};
    question.mask = kPathToGid | kPathFromGid | kPathReversible | kPathCount;
    put(question.record, kPathTo, to);
    put(question.record, kPathFrom, self->gid);
    put(question.record, kPathCountAt, 0x80 | 1, 1);  // reversible, and one
    return record(question).map([](const std::optional<Bytes>& found) -> std::optional<Path> {
      if (!found) return std::nullopt;
      return Path{Lid(get(*found, kPathToLid, 2)), Lid(get(*found, kPathFromLid, 2)),
                  PartitionKey(static_cast<std::uint16_t>(get(*found, kPathPkey, 2)))};
    });
  }

  Result<std::optional<SubnetNode>> node(Guid port_guid) override {
    Question question{"look up port " + port_guid.str(), IB_SA_ATTR_NODERECORD};
    question.mask = kNodePortGuid;
    put(question.record, kNodePortGuidAt, port_guid.value(), 8);
    return nodeRecord(question);
  }
  Result<std::optional<SubnetNode>> node(Lid lid) override {
    Question question{fmt::format("look up LID {}", number(lid)), IB_SA_ATTR_NODERECORD};
    question.mask = kNodeLid;
    put(question.record, 0, number(lid), 2);
    return nodeRecord(question);
  }

  Result<std::optional<Attachment>> attachment(Lid lid, unsigned port) override {
    Question question{fmt::format("look up the link of LID {} port {}", number(lid), port),
                      IB_SA_ATTR_LINKRECORD};
    question.mask = kLinkFromLid | kLinkFromPort;
    put(question.record, 0, number(lid), 2);
    put(question.record, 2, port, 1);
    return record(question).map([](const std::optional<Bytes>& found) -> std::optional<Attachment> {
      if (!found) return std::nullopt;
      return Attachment{Lid(get(*found, 4, 2)), static_cast<unsigned>(get(*found, 3, 1))};
    });
  }

  Result<SubnetNode> ask(Lid lid) override {
    ib_portid_t to{};
    to.lid = number(lid);
    std::array<std::uint8_t, IB_SMP_DATA_SIZE> data{};
    const std::string what = fmt::format("ask the port at LID {} who it is", number(lid));
    if (smp_query_via(data.data(), &to, IB_ATTR_NODE_INFO, 0, timeout(), port_) == nullptr)
      return failure(ErrorCode::kTimeout, what, "nobody has answered there");
    SubnetNode node{lid, {}, {}};
    node.node_guid = Guid(mad_get_field64(data.data(), 0, IB_NODE_GUID_F));
    node.port_guid = Guid(mad_get_field64(data.data(), 0, IB_NODE_PORT_GUID_F));
    return node;
  }

  Result<void> join(const Gid& group, const Gid& port, JoinState state) override {
    Question question{"join multicast group " + group.str(), IB_SA_ATTR_MCRECORD, IB_MAD_METHOD_SET};
    question.mask = kMemberGroup | kMemberPort | kMemberState;
    put(question.record, 0, group);
    put(question.record, kMemberPortAt, port);
    put(question.record, kMemberStateAt, static_cast<unsigned>(state), 1);
    const auto done = record(question);
    if (!done) return tl::unexpected(done.error());
    if (!*done) return failure(ErrorCode::kNotFound, question.what, "the SA has no such group or member");
    return {};
  }

  Result<void> subscribe(unsigned trap, bool on) override {
    Question question{fmt::format("{} trap {}", on ? "subscribe to" : "end the subscription to", trap),
                      IB_SA_ATTR_INFORMINFO, IB_MAD_METHOD_SET};
    put(question.record, 16, 0xffff, 2);  // from any port
    put(question.record, 22, 1, 1);       // generic
    put(question.record, 23, on ? 1 : 0, 1);
    put(question.record, 24, 0xffff, 2);  // of any type
    put(question.record, 26, trap, 2);
    put(question.record, 28, 1U << 8 | 18, 4);  // reports to QP 1, answered within 4.096 us * 2^18
    put(question.record, 33, 0xffffff, 3);      // any producer
    return record(question).map([](const auto&) {});
  }

  Result<Guid> setAliasGuid(Lid lid, unsigned row, Guid guid) override {
    const bool takes_away = guid == Guid();
    Question question{
        fmt::format("{} alias GUID {} of LID {}", takes_away ? "take away" : "set", row, number(lid)),
        IB_SA_ATTR_GUIDINFORECORD,
        static_cast<unsigned>(takes_away ? IB_MAD_METHOD_DELETE : IB_MAD_METHOD_SET)};
    if (row == 0 || row >= kGuidsInBlock)
      return failure(ErrorCode::kBadInput, question.what,
                     "row 0 is the port's own, and a block has rows 1 to 7");
    question.mask = kGuidsLid | kGuidsBlock | kGuidsRow << row;
    put(question.record, 0, number(lid), 2);
    put(question.record, kGuidsAt + 8 * row, guid.value(), 8);
    const auto found = record(question);
    if (!found) return tl::unexpected(found.error());
    return *found ? Guid(get(**found, kGuidsAt + 8 * row, 8)) : Guid();
  }

 private:
  struct Own {
    Gid gid;
    Lid lid;
    std::uint16_t sm_lid;
    std::uint8_t sm_sl;
  };

  static std::uint16_t number(Lid lid) { return static_cast<std::uint16_t>(lid); }
  [[nodiscard]] unsigned timeout() const { return static_cast<unsigned>(options_.timeout.count()); }

  /// Asked each time: the port's LID and the SM's can change.
  Result<Own> own() {
    umad_port_t port{};
    const std::string what = fmt::format("use {} port {}", adapter_, options_.port);
    if (umad_get_port(adapter_.c_str(), options_.port, &port) != 0)
      return failure(ErrorCode::kUnavailable, what, "it is not there any more");
    const auto prefix = be64toh(port.gid_prefix);
    const Own own{Gid(prefix, Guid(be64toh(port.port_guid))), Lid(port.base_lid),
                  static_cast<std::uint16_t>(port.sm_lid), static_cast<std::uint8_t>(port.sm_sl)};
    const auto state = port.state;
    umad_release_port(&port);
    if (state != 4 || own.sm_lid == 0)
      return failure(ErrorCode::kUnavailable, what,
                     "the port is not active, or no subnet manager has been there",
                     "See to the cable and the subnet manager.");
    return own;
  }

  /// One record, or nothing when the SA has none.
  Result<std::optional<Bytes>> record(const Question& question) {
    const auto self = own();
    if (!self) return tl::unexpected(self.error());
    ib_portid_t to{};
    to.lid = self->sm_lid;
    to.sl = self->sm_sl;
    to.qp = 1;
    to.qkey = IB_DEFAULT_QP1_QKEY;
    ib_rpc_v1_t call{};
    call.mgtclass = IB_SA_CLASS | IB_MAD_RPC_VERSION1;
    call.method = static_cast<int>(question.method);
    call.attr.id = question.attribute;
    call.mask = question.mask;
    call.dataoffs = IB_SA_DATA_OFFS;
    call.datasz = IB_SA_DATA_SIZE;
    call.timeout = static_cast<int>(options_.timeout.count());
    Bytes sent = question.record;
    Bytes received{};
    // Its first argument is of the older version's type, which begins alike.
    if (mad_rpc(port_, reinterpret_cast<ib_rpc_t*>(&call), &to, sent.data(), received.data()) != nullptr)
      return received;
    if (call.rstatus == kNoRecords) return std::nullopt;
    if (call.rstatus != 0)
      return failure(ErrorCode::kRefused, question.what, reason(static_cast<int>(call.rstatus)));
    return failure(ErrorCode::kTimeout, question.what, "the subnet administration does not answer",
                   "Look at the subnet manager.");
  }

  Result<std::optional<SubnetNode>> nodeRecord(const Question& question) {
    return record(question).map([](const std::optional<Bytes>& found) -> std::optional<SubnetNode> {
      if (!found) return std::nullopt;
      return SubnetNode{Lid(get(*found, 0, 2)), Guid(get(*found, kNodeGuidAt, 8)),
                        Guid(get(*found, kNodePortGuidAt, 8))};
    });
  }

  ibmad_port* const port_;
  const MadSubnetOptions options_;
  const std::string adapter_;
};

}  // namespace

Result<std::unique_ptr<Subnet>> openSubnet(const MadSubnetOptions& options) {
  umad_init();
  madrpc_show_errors(0);  // our callers say what there is to say
  umad_port_t found{};
  const std::string what =
      fmt::format("reach the InfiniBand subnet through {} port {}",
                  options.adapter.empty() ? "an adapter" : options.adapter, options.port);
  if (umad_get_port(options.adapter.empty() ? nullptr : options.adapter.c_str(), options.port, &found) != 0)
    return failure(ErrorCode::kUnavailable, what, "there is no such adapter with an InfiniBand port",
                   "ibstat lists the adapters; load ib_umad if it lists none.");
  std::string adapter = found.ca_name;
  const int number = found.portnum;
  umad_release_port(&found);
  std::array<int, 3> classes{IB_SMI_CLASS, IB_SMI_DIRECT_CLASS, IB_SA_CLASS};
  ibmad_port* const port =
      mad_rpc_open_port(adapter.data(), number, classes.data(), static_cast<int>(classes.size()));
  if (port == nullptr)
    return failure(ErrorCode::kUnavailable, what,
                   fmt::format("its umad device cannot be opened: {}", std::strerror(errno)),
                   "Load ib_umad and run as root.");
  mad_rpc_set_timeout(port, static_cast<int>(options.timeout.count()));
  mad_rpc_set_retries(port, options.tries);
  auto resolved = options;
  resolved.port = number;
  return std::make_unique<MadSubnet>(port, resolved, std::move(adapter));
}

}  // namespace rdmove
