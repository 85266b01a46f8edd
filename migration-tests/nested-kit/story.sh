# shellcheck shell=bash
# What `nested` does, and what it sees. Whatever does not hold ends it.

seen() { printf '%4d s  %s\n' "$((SECONDS - began))" "$*"; }
expect() { [[ $2 == "$3" ]] || die "$1: expected \"$3\", found \"$2\"."; }

rdmove() { on_host "$1" /build/coordinator/rdmove "${@:2}"; }

bring_up() {   # HOST...
  local host process processes=()
  mkdir -p "$STATE"
  echo "$*" >"$STATE/hosts"
  make_authority
  for host in "$@"; do start_host "$host"; done
  for host in "$@"; do
    furnish_running_host "$host" &
    processes+=($!)
  done
  for process in "${processes[@]}"; do wait "$process" || exit 1; done
  for host in "$@"; do
    seen "$host: libvirtd and rdmoved answer; rdmove vf list:"
    rdmove "$host" vf list
  done
  keep_capabilities "$1"
}

furnish_running_host() {
  await_host "$1"
  make_vfs "$1"
  make_peer "$1"
  seen "$1 runs: an IOMMU, an SR-IOV adapter with $HOST_VFS VFs bound to vfio-pci"
  start_daemons "$1"
}

# After its restore the guest has no VF yet.
bring_guest_up() {
  host_virsh hosta define "/guest/$GUEST.xml" >/dev/null
  host_virsh hosta restore --xml "/guest/$GUEST.xml" /guest/saved >/dev/null
  expect "$GUEST on hosta" "$(vm_state "$GUEST" hosta)" running
  seen "$GUEST runs on hosta, restored from its saved state"
}

vf_is_with() { [[ $(vf_driver "$1" "$2") == "$3" ]]; }

# attach_vf INDEX [--config]: in the running guest, and in its definition.
attach_vf() {
  vf_xml "$1" >"$(host_dir hosta)/vf.xml"
  host_virsh hosta attach-device "$GUEST" /host/vf.xml --live "${@:2}" >/dev/null
}

# Which VF of a host's adapter has the guest's MAC: "INDEX VLAN"; nothing where none has.
identity_on() {
  on_host "$1" ip link show pf0 |
    sed -nE "s/^ *vf ([0-9]+) .* $(vm_mac "$GUEST" 77) .* vlan ([0-9]+),.*/\1 \2/p"
}

# settings_of HOST INDEX: what the adapter tells of a VF beside its addresses, "100Mbps off on": greatest rate, spoof check, trust.
settings_of() {
  on_host "$1" ip -details link show pf0 | awk -v vf="$2" '
    function after(words) { return match($0, words " [A-Za-z0-9]+") ? substr($0, RSTART + length(words) + 1, RLENGTH - length(words) - 1) : "none" }
    $1 == "vf" && $2 == vf { print after("max_tx_rate"), after("spoof checking"), after("trust") }'
}

# rdma_between_guest_and HOST: an RC connection from the guest's VF to the host's adapter and back.
rdma_between_guest_and() {
  local host=$1 address
  address=$(peer_address "$host")
  on_host "$host" bash -c "
    gid=\$(grep -l $(gid_of "$address") /sys/class/infiniband/rxe0/ports/1/gids/* | head -n1)
    (timeout 600 ibv_rc_pingpong -d rxe0 -g \${gid##*/} -n 20 >/tmp/pingpong 2>&1 &)
    until ss -Hltn sport = :18515 | grep -q .; do sleep 0.1; done"
  in_guest "
    gid=\$(grep -l $(gid_of "$(vm_address "$GUEST" 77)") /sys/class/infiniband/*/ports/1/gids/* | head -n1)
    device=\${gid#/sys/class/infiniband/}
    ibv_rc_pingpong -d \${device%%/*} -g \${gid##*/} -n 20 $address" | grep -E 'iters in' >/dev/null ||
    die "no RDMA between $GUEST and $host: $(on_host "$host" tail -n1 /tmp/pingpong)"
  seen "RDMA flows between the guest's VF and ${host}'s adapter (ibv_rc_pingpong)"
}

# give_vf_to HOST INDEX DRIVER
give_vf_to() {
  on_host "$1" bash -c "modprobe -d /modules $3
    vf=\$(readlink -f /sys/class/net/pf0/device/virtfn$2)
    basename \$vf >\$vf/driver/unbind; echo $3 >\$vf/driver_override
    basename \$vf >/sys/bus/pci/drivers_probe; echo >\$vf/driver_override"
  expect "driver of $1's VF $2" "$(vf_driver "$1" "$2")" "$3"
}

whole_story() {
  local id vf
  bring_up hosta hostb
  # So that the VF at the destination is another one than at the source.
  claim_vf hostb 0
  expect "state of hostb's VF 0" "$(vf_state hostb 0)" "claimed bystander"
  seen "hostb's VF 0 is claimed by a domain that is shut off"
  give_vf_to hostb 1 igbvf
  seen "hostb's VF 1 is with a driver of the host"

  bring_guest_up
  attach_vf 0 --config
  expect "VF with $GUEST's MAC on hosta, and its VLAN" "$(identity_on hosta)" "0 $GUEST_VLAN"
  expect "state of hosta's VF 0" "$(vf_state hosta 0)" "attached $GUEST"
  seen "$GUEST has hosta's VF 0 by VFIO: MAC $(vm_mac "$GUEST" 77), VLAN $GUEST_VLAN as the adapter tells them"
  in_guest lab-net || die "$GUEST does not give its VF an address and an RDMA device (status $?)."
  rdma_between_guest_and hosta

  seen "rdmove migrate $GUEST hostb"
  rdmove hosta migrate "$GUEST" hostb --verbose || die "rdmove migrate ended with status $?; logs: $STATE/host/*/var/log/rdmove"
  expect "$GUEST on hostb" "$(vm_state "$GUEST" hostb)" running
  expect "$GUEST on hosta" "$(vm_state "$GUEST" hosta)" ""
  expect "VF with $GUEST's MAC on hosta" "$(identity_on hosta)" ""
  expect "VF with $GUEST's MAC on hostb, and its VLAN" "$(identity_on hostb)" "1 $GUEST_VLAN"
  expect "greatest rate, spoof check and trust of hostb's VF 1" "$(settings_of hostb 1)" "100Mbps off on"
  expect "state of hosta's VF 0" "$(vf_state hosta 0)" "free"
  expect "state of hostb's VF 1" "$(vf_state hostb 1)" "attached $GUEST"
  for id in "" --inactive; do
    # shellcheck disable=SC2086
    vf=$(host_virsh hostb dumpxml $id "$GUEST" | grep -A3 "mac address='$(vm_mac "$GUEST" 77)'" | grep -c "slot='0x10' function='0x2'" || true)
    expect "VF 1 in the ${id:-live} XML on hostb" "$vf" 1
  done
  seen "$GUEST runs on hostb and has its VF 1, with the same MAC and VLAN, and rate, spoof check and trust that only rdmove sets; hosta's VF 0 is free again"
  in_guest "ip -o addr show to $(vm_address "$GUEST" 77) && rdma link show" || die "$GUEST does not answer."
  rdma_between_guest_and hosta
  rdma_between_guest_and hostb

  host_virsh hostb destroy "$GUEST" >/dev/null
  host_virsh hostb undefine "$GUEST" >/dev/null
  wait_for 120 vf_is_with hostb 1 igbvf || die "hostb's VF 1 is with $(vf_driver hostb 1) after $GUEST is gone"
  expect "VF with $GUEST's MAC on hostb" "$(identity_on hostb)" ""
  expect "greatest rate, spoof check and trust of hostb's VF 1" "$(settings_of hostb 1)" "none on off"
  seen "$GUEST is gone; hostb's VF 1 has its driver and its own address again"
  seen "all of it holds"
}
