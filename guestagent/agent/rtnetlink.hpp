// NetworkState by libnl-route-3. How messages are captured and put back is in rtnetlink_replay.hpp.
#pragma once

#include <filesystem>
#include <functional>

#include "guestagent/agent/netlink_socket.hpp"
#include "guestagent/agent/network_state.hpp"

struct rtnl_link;

namespace rdmove::agent {

class Rtnetlink final : public NetworkState {
 public:
  explicit Rtnetlink(std::filesystem::path sys);

  std::optional<LinkInfo> find(const DeviceIdentity& identity, DeviceKind kind) override;
  std::vector<LinkInfo> links() override;
  std::vector<std::string> addresses(int index) override;
  Result<CapturedLink> capture(const LinkInfo& link) override;
  BroughtUp bring_up(const LinkInfo& link, const CapturedLink& captured) override;
  std::vector<std::string> put_routes(const std::vector<RestoredLink>& links,
                                      const CapturedLink& captured) override;

 private:
  Result<CapturedLink> capture_one(const LinkInfo& link);
  int capture_rules(unsigned char family, const std::string& netdev, std::vector<CapturedItem>& out);

  // rtnetlink_restore.cpp
  int change(int index, const std::function<void(rtnl_link*)>& set);
  void bring_up_one(const LinkInfo& link, const CapturedLink& captured, BroughtUp& out);
  void bring_up_child(int parent, const CapturedLink& child, BroughtUp& out);
  void put_name(const LinkInfo& link, const CapturedLink& captured, RestoredLink& restored, BroughtUp& out);
  void put_ipoib(const LinkInfo& link, const CapturedLink& captured, BroughtUp& out);
  void put_priorities(const LinkInfo& link, const CapturedLink& captured, BroughtUp& out);
  int make_child(int parent, const CapturedLink& child);
  void put_rules(const CapturedLink& captured, const RestoredLink& self, std::vector<std::string>& failed);
  [[nodiscard]] std::string driver_of(const std::string& netdev) const;

  std::filesystem::path sys_;
  NetlinkSocket socket_;
};

}  // namespace rdmove::agent
