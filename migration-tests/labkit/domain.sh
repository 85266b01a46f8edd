# shellcheck shell=bash
# Guests as libvirt domains. All of a guest's identity comes from its name.

# What another kind of lab has otherwise (nested-kit/guest.sh), beside rdma_nic_xml and domain_identity below.
DOMAIN_TYPE=            # empty: kvm where that works
DOMAIN_MACHINE=q35
DOMAIN_MIB=256
DOMAIN_WORDS=           # more of the kernel's command line
DOMAIN_ELEMENTS=        # more children of <domain>

# vmN is N, peer is 100, peerN is 100+N, any other name gets one of 150…249 from its letters.
vm_number() {
  local name=$1
  if [[ $name =~ ^vm([1-9][0-9]?)$ ]]; then echo "${BASH_REMATCH[1]}"
  elif [[ $name =~ ^peer([1-9]|[1-4][0-9])?$ ]]; then echo $((100 + ${BASH_REMATCH[1]:-0}))
  elif [[ $name =~ ^[a-z0-9][a-z0-9-]{0,31}$ ]]; then echo $((150 + $(printf %s "$name" | cksum | cut -d' ' -f1) % 100))
  else die "$name is no usable guest name: small letters, digits and dashes."
  fi
}

vm_mac() { printf '52:54:00:%s:00:%02x' "$2" "$(vm_number "$1")"; }   # NAME 77 (fabric) or 88 (LAN)
vm_address() { echo "10.$2.0.$(vm_number "$1")"; }

domain_xml() {
  local name=$1 number words port
  number=$(vm_number "$name")
  # nokaslr, mitigations and the rest only save time: the guest is emulated.
  # Without no_timer_check its kernel panics when a busy machine leaves it no time during that check.
  words="console=ttyS0 quiet no_timer_check mitigations=off nokaslr audit=0 apparmor=0 rdmove.host=$name"
  words+=" rdmove.lan=$(vm_mac "$name" 88)/$(vm_address "$name" 88)/24 rdmove.net=$(vm_mac "$name" 77)/$(vm_address "$name" 77)/24"
  words+=" $DOMAIN_WORDS ${RDMOVE_LAB_APPEND:-}"
  cat <<XML
<domain type='${DOMAIN_TYPE:-$("$kit/kvm-probe" "$STATE/image")}'>
  <name>$name</name>
  <uuid>52540077-0000-4000-8000-$(printf %012x "$number")</uuid>
  <metadata>
    <rdma:rdma xmlns:rdma='urn:rdmove:domain:1'>
      <rdma:vf alias='ua-rdma0' pool='fabric' model='roce' continuity='reconnect'>
        <rdma:identity $(domain_identity "$name")/>
      </rdma:vf>
    </rdma:rdma>
  </metadata>
  <memory unit='MiB'>$DOMAIN_MIB</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='$DOMAIN_MACHINE'>hvm</type>
    <kernel>$STATE/image/vmlinux</kernel>
    <initrd>$STATE/image/initramfs.cpio</initrd>
    <cmdline>$words</cmdline>
  </os>
  <features><acpi/></features>
  <cpu mode='custom' match='exact'><model>qemu64</model></cpu>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <controller type='usb' model='none'/>
    <controller type='pci' index='0' model='pcie-root'/>
$(for port in {1..8}; do echo "    <controller type='pci' index='$port' model='pcie-root-port'/>"; done)
    <controller type='virtio-serial' index='0'/>
    <interface type='bridge'>
      <mac address='$(vm_mac "$name" 88)'/>
      <source bridge='lan0'/>
      <model type='virtio'/>
      <rom enabled='no'/>
      <alias name='ua-lan0'/>
    </interface>
$(rdma_nic_xml "$name")
    <serial type='pty'><log file='/var/log/libvirt/qemu/$name-console.log' append='on'/></serial>
    <channel type='unix'><target type='virtio' name='org.rdmove.agent.0'/></channel>
    <memballoon model='none'/>
  </devices>
$DOMAIN_ELEMENTS
</domain>
XML
}

domain_identity() { echo "mac='$(vm_mac "$1" 77)'"; }

# With an address of its own, or the NIC would come back on another guest bus, under another name.
rdma_nic_xml() {
  cat <<XML
    <interface type='bridge'>
      <mac address='$(vm_mac "$1" 77)'/>
      <source bridge='br0'/>
      <model type='${RDMOVE_LAB_NIC:-virtio}'/>
      <rom enabled='no'/>
      <alias name='ua-rdma0'/>
      <address type='pci' domain='0x0000' bus='0x06' slot='0x00' function='0x0'/>
    </interface>
XML
}

parse_vm() {   # NAME@HOST[:transient] into vm, host, kind
  [[ $1 =~ ^([^@]+)@([^:]+)(:transient)?$ ]] || die "$1 is not NAME@HOST or NAME@HOST:transient."
  vm=${BASH_REMATCH[1]} host=${BASH_REMATCH[2]} kind=${BASH_REMATCH[3]:-:persistent}
  kind=${kind#:}
}

vm_state() { host_virsh "$2" domstate "$1" 2>/dev/null; }

# vm_host NAME: the host on which it runs (or is paused).
vm_host() {
  local host
  for host in $(lab_hosts); do
    case $(vm_state "$1" "$host") in running | paused | idle | "in shutdown") echo "$host"; return ;; esac
  done
  return 1
}

start_vm() {
  local vm host kind xml other
  parse_vm "$1"
  mkdir -p "$STATE/vms"
  xml=$STATE/vms/$vm.xml
  for other in "$STATE"/vms/*.xml; do
    [[ -e $other && $other != "$xml" ]] || continue
    other=$(basename "$other" .xml)
    [[ $(vm_number "$other") != "$(vm_number "$vm")" ]] || die "$vm and $other would have the same addresses: choose another name."
  done
  if other=$(vm_host "$vm"); then return; fi
  domain_xml "$vm" >"$xml"
  local VIRSH_SECONDS=90   # the first one waits until libvirt has asked QEMU for its capabilities
  if [[ $kind == transient ]]; then
    host_virsh "$host" create "$xml" >/dev/null
  else
    host_virsh "$host" define "$xml" >/dev/null
    host_virsh "$host" start "$vm" >/dev/null
  fi || die "$vm does not start on $host."
}

destroy_vm() {
  local vm host kind
  parse_vm "$1"
  host_virsh "$host" destroy "$vm" >/dev/null 2>&1 || true
  host_virsh "$host" undefine "$vm" >/dev/null 2>&1 || true
  [[ -z $(vm_state "$vm" "$host") ]] || die "$vm is still there on $host."
  vm_host "$vm" >/dev/null || rm -f "$STATE/vms/$vm.xml"
}

lab_vm() {
  case ${1:-} in
    start) start_vm "${2:?vm}"; await_guest "${2%@*}" ;;
    destroy) destroy_vm "${2:?vm}" ;;
    *) die "usage: lab vm start|destroy NAME@HOST[:transient]" ;;
  esac
}
