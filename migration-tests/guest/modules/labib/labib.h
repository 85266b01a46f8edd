/* SPDX-License-Identifier: GPL-2.0 */
/* What labib's files know of each other. */
#ifndef LABIB_H
#define LABIB_H

#include <linux/if_infiniband.h>
#include <linux/netdevice.h>

#define LABIB_ETHERTYPE 0x88b5 /* IEEE 802, local experimental 1 */
#define LABIB_MAX_VFS 64
#define LABIB_DEFAULT_PKEY 0xffff

struct labib_encap { /* RFC 4391, section 6 */
	__be16 proto;
	__be16 reserved;
};

/* What stands between the Ethernet header and the encapsulation. */
struct labib_wire {
	u8 to[INFINIBAND_ALEN];
	u8 from[INFINIBAND_ALEN];
};

/* Before the encapsulation, between hard_header() and xmit(), as ib_ipoib has it. */
struct labib_pseudo {
	u8 to[INFINIBAND_ALEN];
};

#define LABIB_HARD_LEN (sizeof(struct labib_encap) + sizeof(struct labib_pseudo)) /* as IPOIB_HARD_LEN */

struct labib_vf {
	u64 node_guid;
	u64 port_guid;
	int link_state;
};

struct labib {
	struct net_device *lower;
	struct net_device *upper; /* of a P_Key child: the device that it belongs to */
	netdevice_tracker tracker;
	struct packet_type packets;
	struct device *parent; /* none of a child's own */
	u16 pkey;
	u16 mode;
	u16 umcast;
	struct labib_vf vfs[LABIB_MAX_VFS];
};

/* labib_device.c: frames. */
extern const struct header_ops labib_header_ops;
netdev_tx_t labib_xmit(struct sk_buff *skb, struct net_device *dev);
int labib_receive(struct sk_buff *skb, struct net_device *lower, struct packet_type *packets, struct net_device *orig);

/* labib_vfs.c: what rtnetlink does with the virtual functions. */
int labib_vfs_init(void);
void labib_vfs_exit(void);
struct device *labib_make_parent(void);
int labib_get_vf_config(struct net_device *dev, int vf, struct ifla_vf_info *info);
int labib_get_vf_guid(struct net_device *dev, int vf, struct ifla_vf_guid *node, struct ifla_vf_guid *port);
int labib_set_vf_guid(struct net_device *dev, int vf, u64 guid, int type);
int labib_set_vf_link_state(struct net_device *dev, int vf, int state);

#endif
