#include "coordinator/fabric/inventory/rdma_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netlink/attr.h>
#include <rdma/rdma_netlink.h>

#include "coordinator/fabric/identity/vf_message.hpp"
#include "coordinator/fabric/inventory/rdma_message.hpp"

namespace rdmove::fabric {
namespace {

constexpr int kDevice = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);

TEST(RdmaDevicesTest, an_answer_of_the_kernels_is_read) {
  const NetlinkOwned<nl_msg> answer(nlmsg_alloc_simple(kDevice, 0));
  nla_put_u32(answer.get(), RDMA_NLDEV_ATTR_DEV_INDEX, 3);
  nla_put_string(answer.get(), RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
  nla_put_u32(answer.get(), RDMA_NLDEV_ATTR_PORT_INDEX, 1);
  nla_put_string(answer.get(), RDMA_NLDEV_ATTR_FW_VERSION, "20.31.1014");
  nla_put_u64(answer.get(), RDMA_NLDEV_ATTR_NODE_GUID, 0x0002c903000a1b2c);
  const auto device = rdmaDeviceOf(answer.get());
  ASSERT_TRUE(device);
  EXPECT_EQ(device->name, "mlx5_0");
  EXPECT_EQ(device->firmware, "20.31.1014");
  EXPECT_EQ(device->node_guid, Guid(0x0002c903000a1b2c));
  EXPECT_EQ(device->ports, 1U);
}

TEST(RdmaDevicesTest, an_answer_without_a_name_or_of_another_kind_is_none) {
  const NetlinkOwned<nl_msg> nameless(nlmsg_alloc_simple(kDevice, 0));
  nla_put_u32(nameless.get(), RDMA_NLDEV_ATTR_DEV_INDEX, 3);
  EXPECT_FALSE(rdmaDeviceOf(nameless.get()));
  const NetlinkOwned<nl_msg> other(nlmsg_alloc_simple(kDevice + 1, 0));
  nla_put_string(other.get(), RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
  EXPECT_FALSE(rdmaDeviceOf(other.get()));
}

TEST(RdmaDevicesTest, this_hosts_kernel_answers_or_has_none) {
  const auto devices = makeRdmaDevices()->list();
  ASSERT_TRUE(devices) << devices.error().sentence();
  for (const RdmaDevice& device : *devices) EXPECT_FALSE(device.name.empty());
}

}  // namespace
}  // namespace rdmove::fabric
