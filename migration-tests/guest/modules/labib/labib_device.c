// SPDX-License-Identifier: GPL-2.0
/* How labib's frames go over the Ethernet device below, and which of them are for whom. */
#include <linux/etherdevice.h>
#include <linux/skbuff.h>

#include "labib.h"

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

const struct header_ops labib_header_ops = {
	.create = labib_header,
};

netdev_tx_t labib_xmit(struct sk_buff *skb, struct net_device *dev)
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

/*
 * A multicast group's GID has its P_Key in it (RFC 4391, section 4): it reaches the members of its partition. The flags in
 * the first byte of the others are no part of the address.
 */
static bool labib_is_for(const struct net_device *dev, const u8 *to)
{
	if (to[4] == 0xff)
		return !memcmp(to + 8, dev->broadcast + 8, 2);
	return !memcmp(to + 1, dev->dev_addr + 1, INFINIBAND_ALEN - 1);
}

int labib_receive(struct sk_buff *skb, struct net_device *lower, struct packet_type *packets, struct net_device *orig)
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
