// SPDX-License-Identifier: GPL-2.0
/* Virtual functions that have a GUID and a link state, and nothing else. */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "labib.h"

static unsigned int num_vfs;
module_param(num_vfs, uint, 0444);
MODULE_PARM_DESC(num_vfs, "virtual functions of each device, at most 64");

/* A bus of its own: rtnetlink asks the parent's bus how many VFs there are. */
static int labib_num_vf(struct device *dev)
{
	return num_vfs;
}

static struct bus_type labib_bus = {
	.name = "labib",
	.num_vf = labib_num_vf,
};

static void labib_release_parent(struct device *parent)
{
	kfree(parent);
}

struct device *labib_make_parent(void)
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

static struct labib_vf *labib_vf(struct net_device *dev, int vf)
{
	struct labib *ib = netdev_priv(dev);

	return vf >= 0 && vf < (int)num_vfs ? &ib->vfs[vf] : NULL;
}

int labib_get_vf_config(struct net_device *dev, int vf, struct ifla_vf_info *info)
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
int labib_get_vf_guid(struct net_device *dev, int vf, struct ifla_vf_guid *node, struct ifla_vf_guid *port)
{
	const struct labib_vf *it = labib_vf(dev, vf);

	if (!it)
		return -EINVAL;
	node->vf = port->vf = vf;
	node->guid = it->node_guid;
	port->guid = it->port_guid;
	return 0;
}

int labib_set_vf_guid(struct net_device *dev, int vf, u64 guid, int type)
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

int labib_set_vf_link_state(struct net_device *dev, int vf, int state)
{
	struct labib_vf *it = labib_vf(dev, vf);

	if (!it || state > IFLA_VF_LINK_STATE_DISABLE)
		return -EINVAL;
	it->link_state = state;
	return 0;
}

int labib_vfs_init(void)
{
	return num_vfs > LABIB_MAX_VFS ? -EINVAL : bus_register(&labib_bus);
}

void labib_vfs_exit(void)
{
	bus_unregister(&labib_bus);
}
