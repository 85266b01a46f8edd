# shellcheck shell=bash
# The guest. Booting it in an emulated host takes minutes, so it is booted once on this machine, in a lab of one host,
# saved, and restored from that on the emulated host. What it will need later it has done once before it is saved.

GUEST=vm1
GUEST_IMAGE=$BUILD/nested/guest
GUEST_VLAN=100

# icount: without it the guest is busy with its own timer's ticks alone. It must be the same at save and restore, as must
# the machine type.
# shellcheck disable=SC2034
{
  DOMAIN_TYPE=qemu
  DOMAIN_MACHINE=pc-q35-7.2
  DOMAIN_MIB=160
  DOMAIN_WORDS="tsc=reliable nowatchdog"
  DOMAIN_ELEMENTS="
  <clock offset='utc'><timer name='hpet' present='no'/></clock>
  <qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
    <qemu:arg value='-icount'/><qemu:arg value='shift=5'/>
  </qemu:commandline>"
}
rdma_nic_xml() { :; }   # it comes by VFIO, later
# MAC and VLAN are libvirt's to set; the rest only rdmove sets.
domain_identity() {
  echo "mac='$(vm_mac "$1" 77)' vlan='$GUEST_VLAN' trust='on' spoof-check='off' max-rate='100'"
}

# A first RDMA connection of its own to itself: code and modules are then in memory.
WARM_UP='
  rdma link add warm type rxe netdev lo
  ibv_rc_pingpong -d warm -g 0 -n 20 >/dev/null 2>&1 &
  for i in 1 2 3 4 5; do ibv_rc_pingpong -d warm -g 0 -n 20 127.0.0.1 >/dev/null 2>&1 && break; sleep 1; done
  wait; rdma link del warm; ip link show >/dev/null; ping -c 1 127.0.0.1 >/dev/null; sync; echo 3 >/proc/sys/vm/drop_caches'

# Runs as a process of its own, for its names are those of a lab: `nested` calls it through guest-image.
save_guest() {
  lab_up --hosts outside --vm "$GUEST@outside" --no-daemons
  trap 'take_down; unlock_lab' EXIT
  (lab_guest "$GUEST" --timeout 120 -- "$WARM_UP")   # its own trap ends with its shell
  local VIRSH_SECONDS=120
  mkdir -p "$GUEST_IMAGE"
  host_virsh outside save "$GUEST" "$GUEST_IMAGE/saved.new" >/dev/null
  ln -f "$STATE/image/vmlinux" "$STATE/image/initramfs.cpio" "$GUEST_IMAGE/" 2>/dev/null ||
    cp "$STATE/image/vmlinux" "$STATE/image/initramfs.cpio" "$GUEST_IMAGE/"
  # As the emulated host sees its files.
  sed "s|$STATE/image/|/guest/|" "$STATE/vms/$GUEST.xml" >"$GUEST_IMAGE/$GUEST.xml"
  mv "$GUEST_IMAGE/saved.new" "$GUEST_IMAGE/saved"
}

# in_guest COMMAND: a shell command in the guest, wherever it runs, called from hosta over the LAN that joins the hosts.
in_guest() { on_host hosta bash /host/guest-command "$(vm_address "$GUEST" 88)" "$1"; }

# vf_xml INDEX [BUS]: the guest's interface on this VF, at the guest address that it always has.
vf_xml() {
  cat <<XML
<interface type='hostdev' managed='no'>
  <source><address type='pci' domain='0x0000' bus='${2:-0x01}' slot='0x10' function='$(vf_function "$1")'/></source>
  <mac address='$(vm_mac "$GUEST" 77)'/>
  <vlan><tag id='$GUEST_VLAN'/></vlan>
  <alias name='ua-rdma0'/>
  <address type='pci' domain='0x0000' bus='0x06' slot='0x00' function='0x0'/>
</interface>
XML
}
