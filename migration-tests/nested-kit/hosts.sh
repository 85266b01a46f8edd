# shellcheck shell=bash
# Emulated hosts: each a QEMU with an IOMMU and an SR-IOV adapter, running this machine's own libvirt and QEMU. They are
# joined by two links, unix datagram sockets: the adapters' (pf) and the other one (lan), for management and guests.

HOST_MIB=1280
HOST_VFS=4
HOST_ADAPTERS=1   # a second one is behind a port without access control, so that all its functions share an IOMMU group

host_mac() { printf '52:54:00:%s:00:%02x' "$2" "$(host_number "$1")"; }   # HOST 55 (adapter) or 66 (LAN)

other_host() { [[ $1 == hosta ]] && echo hostb || echo hosta; }

link_of() {   # HOST LINK
  echo "dgram,id=$2,local.type=unix,local.path=$STATE/$1.$2,remote.type=unix,remote.path=$STATE/$(other_host "$1").$2"
}

share_of() {   # TAG FOLDER MORE
  echo "local,mount_tag=$1,path=$2,security_model=none,multidevs=remap,$3"
}

# What the hosts' programs read of /etc; the rest of this machine's is none of their business.
HOST_ETC=(ld.so.cache ld.so.conf ld.so.conf.d nsswitch.conf alternatives services protocols host.conf libibverbs.d
          libnl-3 iproute2 sasl2 ssl/openssl.cnf localtime)

furnish_host() {
  local host=$1 dir file
  dir=$(host_dir "$host")
  make_host_folders "$host"
  make_certificate "$host"
  configure_libvirt "$host"
  configure_rdmoved "$host"
  mkdir -p "$dir/commands"
  for file in "${HOST_ETC[@]}"; do
    [[ -e /etc/$file ]] || continue
    mkdir -p "$(dirname "$dir/etc/$file")"
    cp -a "/etc/$file" "$dir/etc/$file"
  done
  cp "$nested/host-init" "$nested/guest-command" "$kit/guest-call" "$dir/"
  chmod 755 "$dir/host-init"
  mkfifo "$dir/port.in" "$dir/port.out"
}

host_ready_or_dead() { [[ -e $(host_dir "$1")/ready ]] || gone "host-$1"; }

start_host() {
  local host=$1 dir number second=()
  (( HOST_ADAPTERS == 1 )) ||
    second=(-device pcie-root-port,id=rp2,slot=2,chassis=2,disable-acs=on
            -device "igb,bus=rp2,mac=52:54:00:56:00:0$(host_number "$host"),romfile=")
  dir=$(host_dir "$host")
  number=$(host_number "$host")
  furnish_host "$host"
  start_recorded "host-$host" "$dir/qemu.log" \
    "$HOST_QEMU/usr/bin/qemu-system-x86_64" -L "$HOST_QEMU/usr/share/qemu" -L "$HOST_QEMU/usr/share/seabios" \
    -name "$host" -nodefaults -no-user-config -display none -no-reboot \
    -machine q35,usb=off -accel tcg,thread=multi -cpu Nehalem -smp 1 -m "$HOST_MIB" \
    -kernel "$BUILD/guest/vmlinux" -initrd "$HOST_IMAGE" \
    -append "console=ttyS0 quiet intel_iommu=on iommu=pt mitigations=off nokaslr no_timer_check nowatchdog audit=0 apparmor=0 rdmove.host=$host rdmove.number=$number" \
    -chardev "file,id=console,path=$dir/console.log" -serial chardev:console \
    -device intel-iommu,intremap=on,caching-mode=on,device-iotlb=on \
    -device pcie-root-port,id=rp1,slot=1,chassis=1 \
    -netdev "$(link_of "$host" pf)" -device "igb,netdev=pf,bus=rp1,mac=$(host_mac "$host" 55),romfile=" \
    "${second[@]}" \
    -netdev "$(link_of "$host" lan)" -device "virtio-net-pci,netdev=lan,mac=$(host_mac "$host" 66),romfile=" \
    -device virtio-serial-pci -chardev "pipe,id=run,path=$dir/port" \
    -device virtserialport,chardev=run,name=org.rdmove.lab.run \
    -virtfs "$(share_of usr /usr readonly=on)" \
    -virtfs "$(share_of build "$BUILD" readonly=on)" \
    -virtfs "$(share_of guest "$BUILD/nested/guest" readonly=on)" \
    -virtfs "$(share_of modules "$BUILD/guest/modules" readonly=on)" \
    -virtfs "$(share_of host "$dir" readonly=off)"
  be_modest "host-$host"
}

# These take all they can get of the machine. RDMOVE_NESTED_NICE=10 lets others go first, whatever their session.
be_modest() {
  [[ -n ${RDMOVE_NESTED_NICE:-} ]] || return 0
  { echo "$RDMOVE_NESTED_NICE" >"/proc/$(pid_of "$1")/autogroup"; } 2>/dev/null || true
}

await_host() {
  local dir
  dir=$(host_dir "$1")
  wait_for 900 host_ready_or_dead "$1" && [[ -e $dir/ready ]] ||
    die "Host $1 did not come up: $(tail -n1 "$dir/qemu.log" | grep . || tail -n1 "$dir/console.log")"
}

# on_host HOST COMMAND...: as in the lab, but for standard input. ON_HOST_SECONDS bounds it (1200).
on_host() {
  local host=$1 dir id status
  shift
  dir=$(host_dir "$host")
  alive "host-$host" || die "Host $host is not up: run nested --keep."
  id=$BASHPID-${EPOCHREALTIME/./}
  echo "${*@Q}" >"$dir/commands/$id.command"
  echo "$id" 1<>"$dir/port.in"
  wait_for "${ON_HOST_SECONDS:-1200}" ended_or_dead "$dir/commands/$id.status" "$host" || true
  cat "$dir/commands/$id.output"
  cat "$dir/commands/$id.error" >&2
  status=$(cat "$dir/commands/$id.status" 2>/dev/null || echo 124)
  rm -f "$dir/commands/$id".*
  return "$status"
}

ended_or_dead() { [[ -e $1 ]] || gone "host-$2"; }

# libvirtd and rdmoved are the host's own processes, and end with it.
start_daemons() {
  local host=$1
  on_host "$host" libvirtd -d --listen --pid-file /run/libvirt/libvirtd.pid
  on_host "$host" bash -c 'until virsh -q -c qemu:///system uri >/dev/null 2>&1; do sleep 0.2; done'
  on_host "$host" bash -c 'setsid /build/coordinator/rdmoved >/host/rdmoved.out 2>&1 </dev/null &
    until [[ -S /run/rdmove/rdmoved.sock ]]; do kill -0 $! || exit; sleep 0.1; done' ||
    die "rdmoved on $host did not come up: $(tail -n1 "$(host_dir "$host")/rdmoved.out")"
}

# make_vfs HOST [PF]: before rdmoved looks: its VFs, bound to vfio-pci.
make_vfs() {
  on_host "$1" bash -c "
    device=\$(readlink -f /sys/class/net/${2:-pf0}/device)
    echo 0 >\$device/sriov_drivers_autoprobe
    echo $HOST_VFS >\$device/sriov_numvfs
    for vf in \$device/virtfn*; do
      echo vfio-pci >\$vf/driver_override
      basename \$(readlink \$vf) >/sys/bus/pci/drivers_probe
    done"
}

# The timeouts are real time, and the guest is an emulated machine in an emulated machine.
pool_toml() {
  cat <<TOML
[pools.fabric]
kind = "sriov"
pfs = ["pf0"$( ((HOST_ADAPTERS == 1)) || echo ', "pf1"')]
soft_roce = true

[timeouts]
agent_ms = 600000
prepare_ms = 120000
unplug_ms = 600000
attach_budget_ms = 600000
restore_ms = 600000
partner_ms = 120000
lease_hold_ms = 3600000
TOML
}

# The adapter's VF N is 0000:01:10.(2N): its offset and stride as an 82576 has them.
vf_function() { echo "0x$((2 * $1))"; }
vf_name() { echo "0000:01:10.$((2 * $1))"; }

# What rdmoved tells of a VF: "free", "attached vm1"; and how many it has.
told_vfs() { on_host "$1" /build/coordinator/rdmove vf list --json | jq -r --arg vf "$(vf_name "${3:-0}")" "$2"; }
vf_state() { told_vfs "$1" '.vfs[] | select(.name == $vf) | .state + if .domain == "" then "" else " " + .domain end' "$2"; }
vf_driver() { told_vfs "$1" '.vfs[] | select(.name == $vf) | .driver' "$2"; }
vf_count() { told_vfs "$1" '.vfs | length'; }

# The adapter itself is what the guest talks to: soft-RoCE on the PF, and an address in the guest's VLAN.
peer_address() { echo "10.77.0.$((250 + $(host_number "$1")))"; }
make_peer() {
  on_host "$1" bash -c "
    ip link add link pf0 name fabric0 type vlan id $GUEST_VLAN
    ip addr add $(peer_address "$1")/24 dev fabric0
    ip link set fabric0 up
    rdma link add rxe0 type rxe netdev pf0"
}

# An IPv4 address as RoCE's GID tables in sysfs show it.
gid_of() { printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' ${1//./ }; }

# claim_vf HOST INDEX: named by a domain that does not run.
claim_vf() {
  cat >"$(host_dir "$1")/bystander.xml" <<XML
<domain type='qemu'>
  <name>bystander</name>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='hostdev' managed='no'>
      <mac address='52:54:00:77:00:fe'/>
      <source><address type='pci' domain='0x0000' bus='0x01' slot='0x10' function='$(vf_function "$2")'/></source>
    </interface>
  </devices>
</domain>
XML
  host_virsh "$1" define /host/bystander.xml >/dev/null
}
