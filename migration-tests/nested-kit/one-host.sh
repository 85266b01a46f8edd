# shellcheck shell=bash
# What can go wrong with VFs, on one emulated host. Each test leaves the host as it found it: four free VFs, and the guest
# without one.

one_host() {
  local test passed=0 failed=() names
  bring_up hosta
  bring_guest_up
  names=$(compgen -A function | sed -n 's/^vf_test_//p')
  for test in $names; do
    if ("vf_test_$test"); then
      passed=$((passed + 1))
      seen "passed: ${test//_/ }"
    else
      failed+=("$test")
      seen "FAILED: ${test//_/ }"
    fi
    set_right
  done
  echo "$passed passed, ${#failed[@]} failed${failed[*]:+: ${failed[*]}}"
  (( ${#failed[@]} == 0 ))
}

# adapter FUNCTION-BODY: shell on hosta, with $device the PF's folder in sysfs.
adapter() { on_host hosta bash -c "device=\$(readlink -f /sys/class/net/pf0/device); $1"; }

# What a test that failed has left is put right for the next one.
set_right() {
  adapter "ip link set pf0 up"
  detach_vf 2>/dev/null || true
  host_virsh hosta undefine bystander >/dev/null 2>&1 || true
  adapter "for n in 0 1 2 3; do ip link set pf0 vf \$n mac 00:00:00:00:00:00 vlan 0; done" 2>/dev/null || true
}

has_vf() { host_virsh hosta dumpxml "$GUEST" | grep -q "alias name='ua-rdma0'"; }
has_no_vf() { ! has_vf; }

detach_vf() {
  host_virsh hosta detach-device-alias "$GUEST" ua-rdma0 --live >/dev/null || return
  wait_for 240 has_no_vf
}

# refusal_of_attach INDEX [BUS]: what libvirt says against it. The guest must not have the VF then, nor the VF its MAC.
refusal_of_attach() {
  local said
  vf_xml "$@" >"$(host_dir hosta)/vf.xml"
  if said=$(host_virsh hosta attach-device "$GUEST" /host/vf.xml --live 2>&1); then die "VF $1 was attached."; fi
  has_no_vf || die "$GUEST has the VF although that failed: $said"
  expect "VF with $GUEST's MAC" "$(identity_on hosta)" ""
  echo "$said"
}

# says TEXT PATTERN
says() { [[ $1 == *"$2"* ]] || die "expected words with \"$2\", found: $1"; }

vf_test_identity_goes_on_the_adapter_and_what_was_there_comes_back() {
  adapter "ip link set pf0 vf 1 mac 02:00:00:00:00:11 vlan 7"
  attach_vf 1
  expect "identity on the PF" "$(identity_on hosta)" "1 $GUEST_VLAN"
  expect "state" "$(vf_state hosta 1)" "attached $GUEST"
  detach_vf
  says "$(adapter "ip link show pf0")" "link/ether 02:00:00:00:00:11 brd ff:ff:ff:ff:ff:ff, vlan 7,"
  expect "VF with $GUEST's MAC" "$(identity_on hosta)" ""
  expect "state" "$(vf_state hosta 1)" "free"
}

vf_test_one_that_is_attached_goes_to_nobody_else() {
  attach_vf 0
  claim_vf hosta 0
  local said
  if said=$(host_virsh hosta start bystander 2>&1); then die "bystander started with $GUEST's VF."; fi
  says "$said" "in use by driver QEMU, domain $GUEST"
  expect "state" "$(vf_state hosta 0)" "attached $GUEST"
  expect "identity on the PF" "$(identity_on hosta)" "0 $GUEST_VLAN"
  detach_vf
}

vf_test_one_with_a_driver_of_the_host_is_refused() {
  adapter "modprobe -d /modules igbvf
    vf=\$(basename \$(readlink \$device/virtfn3))
    echo \$vf >/sys/bus/pci/drivers/vfio-pci/unbind; echo igbvf >\$device/virtfn3/driver_override
    echo \$vf >/sys/bus/pci/drivers_probe"
  expect "driver" "$(vf_driver hosta 3)" igbvf
  says "$(refusal_of_attach 3)" "must be manually detached from the host"
  adapter "vf=\$(basename \$(readlink \$device/virtfn3))
    echo \$vf >/sys/bus/pci/drivers/igbvf/unbind; echo vfio-pci >\$device/virtfn3/driver_override
    echo \$vf >/sys/bus/pci/drivers_probe"
  expect "state" "$(vf_state hosta 3)" "free"
}

vf_test_pf_that_is_down_is_said_and_nothing_is_set() {
  adapter "ip link set pf0 down"
  says "$(rdmove hosta doctor 2>&1 || true)" "PF pf0 is switched off"
  expect "state" "$(vf_state hosta 0)" "free"
  says "$(refusal_of_attach 0)" "pf0"
  adapter "ip link set pf0 up"
  attach_vf 0
  expect "identity on the PF" "$(identity_on hosta)" "0 $GUEST_VLAN"
  detach_vf
}

vf_test_number_of_vfs_changes_under_rdmoved() {
  adapter "echo 0 >\$device/sriov_numvfs"
  expect "VFs in vf list" "$(vf_count hosta)" 0
  says "$(rdmove hosta doctor 2>&1 || true)" "PF pf0 of pool fabric has no VFs"
  adapter "echo 2 >\$device/sriov_numvfs"
  expect "VFs in vf list" "$(vf_count hosta)" 2
  adapter "echo 0 >\$device/sriov_numvfs"
  make_vfs hosta
  expect "VFs in vf list" "$(vf_count hosta)" "$HOST_VFS"
}

vf_test_one_that_shares_its_iommu_group_is_refused() {
  local group
  make_vfs hosta pf1
  on_host hosta ip link set pf1 up
  group=$(on_host hosta bash -c 'ls $(readlink -f /sys/bus/pci/devices/0000:02:10.0/iommu_group)/devices')
  says "$group" 0000:02:00.0
  says "$(refusal_of_attach 0 0x02)" "not viable"
  says "$(on_host hosta ip link show pf1)" "vf 0     link/ether 00:00:00:00:00:00"
  on_host hosta bash -c 'echo 0 >/sys/class/net/pf1/device/sriov_numvfs'
}

# The kernel asks whoever has the VF to let go: QEMU asks the guest for it.
vf_test_one_that_is_removed_leaves_the_guest() {
  attach_vf 0
  in_guest 'until grep -qx 52:54:00:77:00:01 /sys/class/net/*/address; do usleep 200000; done'
  adapter "echo 0 >\$device/sriov_numvfs"
  wait_for 240 has_no_vf || die "$GUEST still has it."
  expect "VFs in vf list" "$(vf_count hosta)" 0
  make_vfs hosta
  attach_vf 0
  expect "identity on the PF" "$(identity_on hosta)" "0 $GUEST_VLAN"
  detach_vf
}
