// RdmaLinks by the kernel's RDMA netlink (what `rdma link` uses), through libnl-3; GIDs by sysfs. Loop
// thread.
#pragma once

#include <boost/asio/io_context.hpp>

#include "guestagent/agent/netlink_socket.hpp"
#include "guestagent/agent/rdma_links.hpp"
#include "guestagent/agent/rdma_sysfs.hpp"

namespace rdmove::agent {

class RdmaNetlink final : public RdmaLinks {
 public:
  RdmaNetlink(boost::asio::io_context& io, const RdmaSysfs& sysfs) : io_(io), sysfs_(sysfs) {}

  std::vector<RdmaDevice> list() override;
  std::vector<protocol::GidEntry> gids(const std::string& name,
                                       const std::vector<std::string>& wanted) override {
    return sysfs_.gids(name, wanted);
  }
  std::optional<protocol::SubnetPort> subnet_port(const std::string& name) override {
    return sysfs_.subnet_port(name);
  }
  std::vector<protocol::DeviceCounters> counters() override;
  std::vector<std::string> remote_addresses() override;
  protocol::Result<void> add_soft_roce(const std::string& name, const std::string& netdev) override;
  void remove(const std::string& name, Done done) override;

 private:
  NetlinkSocket* socket();  // opened when first needed: the protocol is there only once ib_core is loaded

  boost::asio::io_context& io_;
  const RdmaSysfs& sysfs_;
  std::unique_ptr<NetlinkSocket> socket_;
};

}  // namespace rdmove::agent
