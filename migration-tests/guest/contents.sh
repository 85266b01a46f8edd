# shellcheck shell=bash
# What goes into the guest's image.

# Loaded by init before anything else. rdma_rxe asks the kernel for a "crc32" when a device is made (ENOENT without one), which
# modprobe does not know of: so crc32_generic is named here.
BOOT_MODULES=(virtio_pci virtio_net e1000e virtio_console crc32_generic ib_uverbs rdma_ucm rdma_rxe)

# Loaded once the guest is ready: nobody waits for them.
LATE_MODULES=(igbvf net_failover tun ib_umad ib_ipoib 8021q)

GUEST_PROGRAMS=(ip rdma bridge rping ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ibv_devices ibv_devinfo udpong ucmatose udaddy rstream)

# Our own programs, below $RDMOVE_BUILD. What is not built yet is left out.
OUR_PROGRAMS=(guestagent/rdmove-agent guestagent/rdmove-run guestagent/rdmove-ping migration-tests/rdma-beat migration-tests/rdma-many shadowdev/rdmove-shadow)
OUR_LIBRARIES=()

# Not among those: what is before libibverbs and librdmacm is only for programs that rdmove-shadow starts (--libraries).
SHADOW_LIBRARIES=(shadowdev/before/libibverbs.so.1 shadowdev/before/librdmacm.so.1)
