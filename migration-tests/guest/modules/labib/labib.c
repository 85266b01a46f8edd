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
 * With num_vfs=N every such device has N virtual functions whose GUIDs and link state are set and read by rtnetlink (as on mlx5's
 * PF). Nothing else of a VF is there.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_infiniband.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <net/rtnetlink.h>

#define LABIB_ETHERTYPE 0x88b5 /* IEEE 802, local experimental 1 */
#define LABIB_MAX_VFS 64

static unsigned int num_vfs;
module_param(num_vfs, uint, 0444);
MODULE_PARM_DESC(num_vfs, "virtual functions of each device, at most 64");

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
	netdevice_tracker tracker;
	struct packet_type packets;
	struct device *parent;
	struct labib_vf vfs[LABIB_MAX_VFS];
};

/* RFC 4391, section 4: the IPv4 broadcast group of the default P_Key, link-local scope. */
static const u8 labib_broadcast[INFINIBAND_ALEN] = {
	0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
};

/* A bus of its own: rtnetlink asks the parent's bus how many VFs there are. */
static int labib_num_vf(struct device *dev)
{
	return num_vfs;
}

static struct bus_type labib_bus = {
	.name = "labib",
	.num_vf = labib_num_vf,
};

static int labib_header(struct sk_buff *skb, struct net_device *dev, unsigned short type, const void *to,
			const void *from, unsigned int len)
{
	struct labib_encap *encap = skb_push(skb, sizeof(*encap));
	struct labib_pseudo *pseudo;

	encap->proto = htons(type);
	encap->reserved = 0;
	pseudo = skb_push(skb, sizeof(*pseudo));
	memcpy(pseudo->to, to ? to : dev->broadcast, INFINIBAND_ALEN);
	return LABIB_HARD_LEN; /* packet sockets write their data behind as many bytes */
}

static const struct header_ops labib_header_ops = {
	.create = labib_header,
};

static netdev_tx_t labib_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct labib *ib = netdev_priv(dev);
	const unsigned int room = sizeof(struct labib_wire) + LL_RESERVED_SPACE(ib->lower);
	u8 to[INFINIBAND_ALEN];
	struct labib_wire *wire;

	if (!pskb_may_pull(skb, sizeof(struct labib_pseudo) + sizeof(struct labib_encap)) || skb_cow_head(skb, room)) {
		dev->stats.tx_dropped++;
		kfree_skb(skb);
		return NETDEV_TX_OK;
	}
	memcpy(to, skb->data, sizeof(to));
	skb_pull(skb, sizeof(struct labib_pseudo));
	wire = skb_push(skb, sizeof(*wire));
	memcpy(wire->to, to, sizeof(wire->to));
	memcpy(wire->from, dev->dev_addr, sizeof(wire->from));
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += skb->len;
	skb->dev = ib->lower;
	skb->protocol = htons(LABIB_ETHERTYPE);
	skb_reset_network_header(skb);
	dev_hard_header(skb, ib->lower, LABIB_ETHERTYPE, ib->lower->broadcast, ib->lower->dev_addr, skb->len);
	dev_queue_xmit(skb);
	return NETDEV_TX_OK;
}

/* The flags in the first byte are no part of the address. */
static bool labib_is_for(const struct net_device *dev, const u8 *to)
{
	return to[4] == 0xff || !memcmp(to + 1, dev->dev_addr + 1, INFINIBAND_ALEN - 1);
}

static int labib_receive(struct sk_buff *skb, struct net_device *lower, struct packet_type *packets,
			 struct net_device *orig)
{
	struct net_device *dev = packets->af_packet_priv;
	const unsigned int need = sizeof(struct labib_wire) + sizeof(struct labib_encap);
	const struct labib_wire *wire;
	const struct labib_encap *encap;

	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	if (!(dev->flags & IFF_UP) || !pskb_may_pull(skb, need))
		goto drop;
	wire = (const struct labib_wire *)skb->data;
	if (!labib_is_for(dev, wire->to) || !memcmp(wire->from, dev->dev_addr, INFINIBAND_ALEN))
		goto drop;
	skb->pkt_type = wire->to[4] != 0xff ? PACKET_HOST :
			!memcmp(wire->to, dev->broadcast, INFINIBAND_ALEN) ? PACKET_BROADCAST : PACKET_MULTICAST;
	encap = (const struct labib_encap *)(wire + 1);
	skb->protocol = encap->proto;
	skb_pull(skb, sizeof(struct labib_wire));
	skb_reset_mac_header(skb);
	skb_pull(skb, sizeof(struct labib_encap));
	skb_reset_network_header(skb);
	skb->dev = dev;
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += skb->len;
	return netif_rx(skb);
drop:
	kfree_skb(skb);
	return NET_RX_DROP;
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

static struct labib_vf *labib_vf(struct net_device *dev, int vf)
{
	struct labib *ib = netdev_priv(dev);

	return vf >= 0 && vf < (int)num_vfs ? &ib->vfs[vf] : NULL;
}

static int labib_get_vf_config(struct net_device *dev, int vf, struct ifla_vf_info *info)
{
	const struct labib_vf *it = labib_vf(dev, vf);

	if (!it)
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->vf = vf;
	info->linkstate = it->link_state;
	return 0;
}

/* As mlx5: zero is what was never set. */
static int labib_get_vf_guid(struct net_device *dev, int vf, struct ifla_vf_guid *node, struct ifla_vf_guid *port)
{
	const struct labib_vf *it = labib_vf(dev, vf);

	if (!it)
		return -EINVAL;
	node->vf = port->vf = vf;
	node->guid = it->node_guid;
	port->guid = it->port_guid;
	return 0;
}

static int labib_set_vf_guid(struct net_device *dev, int vf, u64 guid, int type)
{
	struct labib_vf *it = labib_vf(dev, vf);

	if (!it)
		return -EINVAL;
	if (type == IFLA_VF_IB_NODE_GUID)
		it->node_guid = guid;
	else if (type == IFLA_VF_IB_PORT_GUID)
		it->port_guid = guid;
	else
		return -EINVAL;
	return 0;
}

static int labib_set_vf_link_state(struct net_device *dev, int vf, int state)
{
	struct labib_vf *it = labib_vf(dev, vf);

	if (!it || state > IFLA_VF_LINK_STATE_DISABLE)
		return -EINVAL;
	it->link_state = state;
	return 0;
}

static const struct net_device_ops labib_ops = {
	.ndo_open = labib_open,
	.ndo_stop = labib_stop,
	.ndo_start_xmit = labib_xmit,
	.ndo_get_vf_config = labib_get_vf_config,
	.ndo_get_vf_guid = labib_get_vf_guid,
	.ndo_set_vf_guid = labib_set_vf_guid,
	.ndo_set_vf_link_state = labib_set_vf_link_state,
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
	memcpy(dev->broadcast, labib_broadcast, INFINIBAND_ALEN);
}

static void labib_release_parent(struct device *parent)
{
	kfree(parent);
}

static struct device *labib_make_parent(void)
{
	static atomic_t number = ATOMIC_INIT(-1);
	struct device *parent = kzalloc(sizeof(*parent), GFP_KERNEL);

	if (!parent)
		return NULL;
	parent->bus = &labib_bus;
	parent->release = labib_release_parent;
	dev_set_name(parent, "labib%d", atomic_inc_return(&number));
	if (device_register(parent)) {
		put_device(parent);
		return NULL;
	}
	return parent;
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

static int labib_newlink(struct net *net, struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	struct labib *ib = netdev_priv(dev);
	struct net_device *lower;
	u8 queue_pair[3];
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
	/* A queue pair's number is the device's choice, and never the same after it came back. */
	get_random_bytes(queue_pair, sizeof(queue_pair));
	dev_addr_mod(dev, 1, queue_pair, sizeof(queue_pair));
	dev->mtu = lower->mtu - sizeof(struct labib_wire) - sizeof(struct labib_encap);
	dev->max_mtu = dev->mtu;
	ib->lower = lower;
	ib->packets.type = htons(LABIB_ETHERTYPE);
	ib->packets.dev = lower;
	ib->packets.func = labib_receive;
	ib->packets.af_packet_priv = dev;
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
	netdev_hold(lower, &ib->tracker, GFP_KERNEL);
	netif_carrier_on(dev);
	return 0;
}

static void labib_dellink(struct net_device *dev, struct list_head *head)
{
	struct labib *ib = netdev_priv(dev);

	unregister_netdevice_queue(dev, head);
	netdev_put(ib->lower, &ib->tracker);
}

static struct rtnl_link_ops labib_link_ops = {
	.kind = "labib",
	.priv_size = sizeof(struct labib),
	.setup = labib_setup,
	.newlink = labib_newlink,
	.dellink = labib_dellink,
};

/* Goes with its lower device, as IPoIB goes with its port. */
static int labib_notice(struct notifier_block *block, unsigned long event, void *ptr)
{
	struct net_device *lower = netdev_notifier_info_to_dev(ptr), *dev, *next;
	LIST_HEAD(list);

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	for_each_netdev_safe(dev_net(lower), dev, next) {
		if (dev->rtnl_link_ops == &labib_link_ops && ((struct labib *)netdev_priv(dev))->lower == lower)
			labib_dellink(dev, &list);
	}
	unregister_netdevice_many(&list);
	return NOTIFY_DONE;
}

static struct notifier_block labib_notifier = {
	.notifier_call = labib_notice,
};

static int __init labib_init(void)
{
	int error;

	if (num_vfs > LABIB_MAX_VFS)
		return -EINVAL;
	error = bus_register(&labib_bus);
	if (error)
		return error;
	error = register_netdevice_notifier(&labib_notifier);
	if (error)
		goto bus;
	error = rtnl_link_register(&labib_link_ops);
	if (!error)
		return 0;
	unregister_netdevice_notifier(&labib_notifier);
bus:
	bus_unregister(&labib_bus);
	return error;
}

static void __exit labib_exit(void)
{
	rtnl_link_unregister(&labib_link_ops);
	unregister_netdevice_notifier(&labib_notifier);
	bus_unregister(&labib_bus);
}

module_init(labib_init);
module_exit(labib_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("IPoIB look-alike over Ethernet, for a lab");
MODULE_ALIAS_RTNL_LINK("labib");
