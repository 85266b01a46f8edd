// SPDX-License-Identifier: GPL-2.0
/*
 * labib: a network device that looks to Linux as IPoIB's does, for a lab without InfiniBand.
 *
 *     ip link add link eth1 name ib0 address 00:00:..(20 bytes) type labib
 *
 * It has ARPHRD_INFINIBAND, 20-byte addresses (4 bytes flags and QPN, 16 bytes GID) and the encapsulation of RFC 4391. Frames
 * go over the lower Ethernet device in an EtherType for local experiments, behind both 20-byte addresses. As on a
 * real fabric, a unicast reaches only the QPN that it names: who keeps a peer's old address talks to nobody.
 *
 * To the kernel it is a device of ib_ipoib's: its kind is "ipoib", it has a P_Key, a mode and umcast, and P_Key children by
 * `ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001`. So both modules cannot be there.
 *
 * With num_vfs=N every such device has N virtual functions whose GUIDs and link state are set and read by rtnetlink (as on mlx5's
 * PF). Nothing else of a VF is there.
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/rtnetlink.h>

#include "labib.h"

/* RFC 4391, section 4: the IPv4 broadcast group, link-local scope; bytes 8 and 9 are the P_Key. */
static const u8 labib_broadcast[INFINIBAND_ALEN] = {
	0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
};

static int labib_init_device(struct net_device *dev)
{
	struct labib *ib = netdev_priv(dev);

	netdev_hold(ib->lower, &ib->tracker, GFP_KERNEL);
	return 0;
}

static void labib_uninit_device(struct net_device *dev)
{
	struct labib *ib = netdev_priv(dev);

	netdev_put(ib->lower, &ib->tracker);
}

static int labib_open(struct net_device *dev)
{
	struct labib *ib = netdev_priv(dev);

	if (!(ib->lower->flags & IFF_UP))
		return -ENETDOWN;
	dev_add_pack(&ib->packets);
	netif_start_queue(dev);
	return 0;
}

static int labib_stop(struct net_device *dev)
{
	struct labib *ib = netdev_priv(dev);

	netif_stop_queue(dev);
	dev_remove_pack(&ib->packets);
	return 0;
}

/* IFLA_LINK: of a child the device that it belongs to, of others themselves, as ib_ipoib. */
static int labib_get_iflink(const struct net_device *dev)
{
	const struct labib *ib = netdev_priv(dev);

	return ib->upper ? ib->upper->ifindex : dev->ifindex;
}

static const struct net_device_ops labib_ops = {
	.ndo_init = labib_init_device,
	.ndo_uninit = labib_uninit_device,
	.ndo_open = labib_open,
	.ndo_stop = labib_stop,
	.ndo_start_xmit = labib_xmit,
	.ndo_get_iflink = labib_get_iflink,
	.ndo_get_vf_config = labib_get_vf_config,
	.ndo_get_vf_guid = labib_get_vf_guid,
	.ndo_set_vf_guid = labib_set_vf_guid,
	.ndo_set_vf_link_state = labib_set_vf_link_state,
};

static const struct net_device_ops labib_child_ops = {
	.ndo_init = labib_init_device,
	.ndo_uninit = labib_uninit_device,
	.ndo_open = labib_open,
	.ndo_stop = labib_stop,
	.ndo_start_xmit = labib_xmit,
	.ndo_get_iflink = labib_get_iflink,
};

static void labib_setup(struct net_device *dev)
{
	dev->type = ARPHRD_INFINIBAND;
	dev->addr_len = INFINIBAND_ALEN;
	dev->hard_header_len = LABIB_HARD_LEN;
	dev->needed_headroom = sizeof(struct labib_wire) + ETH_HLEN;
	dev->flags = IFF_BROADCAST | IFF_MULTICAST;
	dev->header_ops = &labib_header_ops;
	dev->netdev_ops = &labib_ops;
	dev->needs_free_netdev = true;
	dev->tx_queue_len = 256;
}

/* Without an address: link-local prefix, and a GUID made of the lower device's MAC (EUI-64). */
static void labib_make_address(struct net_device *dev, const u8 *mac)
{
	const u8 eui[8] = { mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5] };
	u8 address[INFINIBAND_ALEN] = { 0 };

	address[4] = 0xfe;
	address[5] = 0x80;
	memcpy(address + 12, eui, sizeof(eui));
	dev_addr_mod(dev, 0, address, sizeof(address));
}

static void labib_free(struct net_device *dev)
{
	struct labib *ib = netdev_priv(dev);

	device_unregister(ib->parent);
}

static struct rtnl_link_ops labib_ipoib_link_ops;

/* Of any of them, once it is known what is below. A queue pair's number is the device's choice, and never the same again. */
static void labib_prepare(struct net_device *dev, struct net_device *lower, u16 pkey)
{
	struct labib *ib = netdev_priv(dev);
	u8 queue_pair[3];

	get_random_bytes(queue_pair, sizeof(queue_pair));
	dev_addr_mod(dev, 1, queue_pair, sizeof(queue_pair));
	memcpy(dev->broadcast, labib_broadcast, INFINIBAND_ALEN);
	dev->broadcast[8] = pkey >> 8;
	dev->broadcast[9] = pkey & 0xff;
	dev->mtu = lower->mtu - sizeof(struct labib_wire) - sizeof(struct labib_encap);
	dev->max_mtu = dev->mtu;
	dev->rtnl_link_ops = &labib_ipoib_link_ops;
	ib->pkey = pkey;
	ib->lower = lower;
	ib->packets.type = htons(LABIB_ETHERTYPE);
	ib->packets.dev = lower;
	ib->packets.func = labib_receive;
	ib->packets.af_packet_priv = dev;
}

static int labib_newlink(struct net *net, struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	struct labib *ib = netdev_priv(dev);
	struct net_device *lower;
	int error;

	if (!tb[IFLA_LINK])
		return -EINVAL;
	lower = __dev_get_by_index(net, nla_get_u32(tb[IFLA_LINK]));
	if (!lower || lower->type != ARPHRD_ETHER) {
		NL_SET_ERR_MSG_MOD(extack, "link must be an Ethernet device");
		return -EINVAL;
	}
	if (!tb[IFLA_ADDRESS])
		labib_make_address(dev, lower->dev_addr);
	labib_prepare(dev, lower, LABIB_DEFAULT_PKEY);
	ib->parent = labib_make_parent();
	if (!ib->parent)
		return -ENOMEM;
	SET_NETDEV_DEV(dev, ib->parent);
	error = register_netdevice(dev);
	if (error) {
		device_unregister(ib->parent);
		return error;
	}
	dev->priv_destructor = labib_free;
	netif_carrier_on(dev);
	return 0;
}

/* A P_Key child: the port's GID, a queue pair of its own. As ib_ipoib it gets the membership bit, and each P_Key once. */
static int labib_new_child(struct net *net, struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
{
	struct net_device *upper = tb[IFLA_LINK] ? __dev_get_by_index(net, nla_get_u32(tb[IFLA_LINK])) : NULL;
	struct net_device *other;
	struct labib *ib = netdev_priv(dev), *of;
	u16 pkey;
	int error;

	if (!upper || upper->netdev_ops != &labib_ops || !data || !data[IFLA_IPOIB_PKEY]) {
		NL_SET_ERR_MSG_MOD(extack, "needs a labib device as its link, and a pkey");
		return -EINVAL;
	}
	of = netdev_priv(upper);
	pkey = nla_get_u16(data[IFLA_IPOIB_PKEY]) | 0x8000;
	for_each_netdev(net, other) {
		struct labib *it = netdev_priv(other);

		if (other->rtnl_link_ops == &labib_ipoib_link_ops && it->lower == of->lower && it->pkey == pkey)
			return -ENOTUNIQ;
	}
	dev->netdev_ops = &labib_child_ops;
	dev_addr_mod(dev, 0, upper->dev_addr, INFINIBAND_ALEN);
	labib_prepare(dev, of->lower, pkey);
	ib->upper = upper;
	SET_NETDEV_DEV(dev, of->parent);
	error = register_netdevice(dev);
	if (!error)
		netif_carrier_on(dev);
	return error;
}

/* With its children, which may be on the list already. */
static void labib_dellink(struct net_device *dev, struct list_head *head)
{
	struct net_device *other, *next;

	for_each_netdev_safe(dev_net(dev), other, next) {
		if (other->rtnl_link_ops == &labib_ipoib_link_ops && ((struct labib *)netdev_priv(other))->upper == dev)
			unregister_netdevice_queue(other, head);
	}
	unregister_netdevice_queue(dev, head);
}

static int labib_changelink(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			    struct netlink_ext_ack *extack)
{
	struct labib *ib = netdev_priv(dev);

	if (data && data[IFLA_IPOIB_MODE])
		ib->mode = nla_get_u16(data[IFLA_IPOIB_MODE]);
	if (data && data[IFLA_IPOIB_UMCAST])
		ib->umcast = nla_get_u16(data[IFLA_IPOIB_UMCAST]);
	return 0;
}

static size_t labib_get_size(const struct net_device *dev)
{
	return 3 * nla_total_size(2);
}

static int labib_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	const struct labib *ib = netdev_priv(dev);

	if (nla_put_u16(skb, IFLA_IPOIB_PKEY, ib->pkey) || nla_put_u16(skb, IFLA_IPOIB_MODE, ib->mode) ||
	    nla_put_u16(skb, IFLA_IPOIB_UMCAST, ib->umcast))
		return -EMSGSIZE;
	return 0;
}

static const struct nla_policy labib_policy[IFLA_IPOIB_MAX + 1] = {
	[IFLA_IPOIB_PKEY] = { .type = NLA_U16 },
	[IFLA_IPOIB_MODE] = { .type = NLA_U16 },
	[IFLA_IPOIB_UMCAST] = { .type = NLA_U16 },
};

/* How one is made, */
static struct rtnl_link_ops labib_link_ops = {
	.kind = "labib",
	.priv_size = sizeof(struct labib),
	.setup = labib_setup,
	.newlink = labib_newlink,
	.dellink = labib_dellink,
};

/* and what it is from then on. */
static struct rtnl_link_ops labib_ipoib_link_ops = {
	.kind = "ipoib",
	.maxtype = IFLA_IPOIB_MAX,
	.policy = labib_policy,
	.priv_size = sizeof(struct labib),
	.setup = labib_setup,
	.newlink = labib_new_child,
	.changelink = labib_changelink,
	.dellink = labib_dellink,
	.get_size = labib_get_size,
	.fill_info = labib_fill_info,
};

/* Goes with its lower device, as IPoIB goes with its port. */
static int labib_notice(struct notifier_block *block, unsigned long event, void *ptr)
{
	struct net_device *lower = netdev_notifier_info_to_dev(ptr), *dev, *next;
	LIST_HEAD(list);

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	for_each_netdev_safe(dev_net(lower), dev, next) {
		if (dev->rtnl_link_ops == &labib_ipoib_link_ops && ((struct labib *)netdev_priv(dev))->lower == lower)
			unregister_netdevice_queue(dev, &list);
	}
	unregister_netdevice_many(&list);
	return NOTIFY_DONE;
}

static struct notifier_block labib_notifier = {
	.notifier_call = labib_notice,
};

static int __init labib_init(void)
{
	int error = labib_vfs_init();

	if (error)
		return error;
	error = register_netdevice_notifier(&labib_notifier);
	if (error)
		goto vfs;
	error = rtnl_link_register(&labib_ipoib_link_ops);
	if (error)
		goto notifier;
	error = rtnl_link_register(&labib_link_ops);
	if (!error)
		return 0;
	rtnl_link_unregister(&labib_ipoib_link_ops);
notifier:
	unregister_netdevice_notifier(&labib_notifier);
vfs:
	labib_vfs_exit();
	return error;
}

static void __exit labib_exit(void)
{
	rtnl_link_unregister(&labib_link_ops);
	rtnl_link_unregister(&labib_ipoib_link_ops);
	unregister_netdevice_notifier(&labib_notifier);
	labib_vfs_exit();
}

module_init(labib_init);
module_exit(labib_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("IPoIB look-alike over Ethernet, for a lab");
MODULE_ALIAS_RTNL_LINK("labib");
