# shellcheck shell=bash
# What an emulated host's initramfs holds. Everything else it has from this machine's /usr, over 9p.

# Before the root file system is there.
ROOT_MODULES=(virtio_pci 9pnet_virtio 9p)

# The adapter before virtio_net. crc32_generic: see guest/contents.sh.
HOST_MODULES=(igb virtio_net virtio_console vfio_pci vfio_iommu_type1 tun bridge 8021q crc32_generic ib_uverbs rdma_ucm rdma_rxe)
