# shellcheck shell=bash
# What is there, for people and for programs.

host_json() {
  local host=$1 domains='[]' name
  if alive "libvirtd-$host"; then
    domains=$(host_virsh "$host" list --all --name 2>/dev/null | grep . | while read -r name; do
      jq -n --arg name "$name" --arg state "$(vm_state "$name" "$host")" \
        --arg persistent "$(host_virsh "$host" dominfo "$name" 2>/dev/null | sed -n 's/^Persistent: *//p')" \
        '{name: $name, state: $state, persistent: ($persistent == "yes")}'
    done | jq -s .)
  fi
  jq -n --arg name "$host" --arg address "$(host_address "$host")" --arg link "$(link_state "$host")" \
    --arg holder "$(pid_of "host-$host" || true)" --arg libvirtd "$(pid_of "libvirtd-$host" || true)" \
    --arg rdmoved "$(pid_of "rdmoved-$host" || true)" --arg folder "$(host_dir "$host")" --argjson domains "$domains" '
    def pid: if . == "" then null else tonumber end;
    {name: $name, address: $address, link: $link, folder: $folder, holder: ($holder | pid),
     libvirtd: ($libvirtd | pid), rdmoved: ($rdmoved | pid), domains: $domains}'
}

lab_json() {
  local host vm hosts guests
  hosts=$(for host in $(alive outer && lab_hosts); do host_json "$host"; done | jq -s .)
  guests=$(
    for vm in "$STATE"/vms/*.xml; do
      [[ -e $vm ]] || continue
      vm=$(basename "$vm" .xml)
      jq -n --arg name "$vm" --arg fabric "$(vm_address "$vm" 77)" --arg lan "$(vm_address "$vm" 88)" --arg mac "$(vm_mac "$vm" 77)" \
        '{name: $name, fabric_address: $fabric, lan_address: $lan, fabric_mac: $mac}'
    done | jq -s .)
  jq -n --arg lab "$LAB" --argjson hosts "$hosts" --argjson guests "$guests" \
    --argjson complete "$([[ -e $STATE/complete ]] && echo true || echo false)" \
    '{lab: $lab, complete: $complete, hosts: $hosts, guests: $guests}'
}

lab_status() {
  [[ -d $STATE ]] || { [[ ${1:-} == --json ]] && echo "{\"lab\":\"$LAB\",\"complete\":false,\"hosts\":[],\"guests\":[]}"; say "Lab $LAB is down."; return 3; }
  if [[ ${1:-} == --json ]]; then lab_json; return; fi
  lab_json | jq -r '
    "lab \(.lab)\(if .complete then "" else " (not complete: run lab up)" end)",
    (.hosts[] | "\(.name)  \(.address)  link \(.link)  libvirtd \(.libvirtd // "-")  rdmoved \(.rdmoved // "-")",
      (.domains[] | "  \(.name)  \(.state)\(if .persistent then "" else ", transient" end)")),
    (.guests[] | "guest \(.name)  fabric \(.fabric_address)  lan \(.lan_address)")'
}
