# shellcheck shell=bash
# Each host's rdmoved and its configuration.

# Another kind of lab has another pool of this name (nested-kit/hosts.sh).
pool_toml() {
  cat <<TOML
[pools.fabric]
kind = "bridge"
bridge = "br0"
slots = 8
TOML
}

rdmoved_toml() {
  local host=$1 other
  cat <<TOML
[daemon]
host = "$host"
state_dir = "/var/lib/rdmove"
socket = "/run/rdmove/rdmoved.sock"
log_file = "/var/log/rdmove/rdmoved.log"

[libvirt]
uri = "qemu:///system"

[partner_api]
listen = "$(host_address "$host"):7470"

$(pool_toml)
${RDMOVE_LAB_TOML:-}
TOML
  for other in $(lab_hosts); do
    [[ $other == "$host" ]] && continue
    cat <<TOML

[partners.$other]
address = "$other:7470"
san = "$other"
libvirt_uri = "qemu+tcp://$other/system"
migration_uri = "tcp://$other"
pools = ["fabric"]
TOML
  done
}

configure_rdmoved() { rdmoved_toml "$1" >"$(host_dir "$1")/etc/rdmove/rdmoved.toml"; }

rdmoved_up_or_dead() { [[ -S $(host_dir "$1")/run/rdmove/rdmoved.sock ]] || gone "rdmoved-$1"; }

start_rdmoved() {
  local host=$1 dir program=$BUILD/coordinator/rdmoved
  dir=$(host_dir "$host")
  [[ -x $program ]] || die "There is no rdmoved at $program: build it, name the build folder in RDMOVE_BUILD, or use --no-daemons."
  alive "rdmoved-$host" && return
  rm -f "$dir/run/rdmove/rdmoved.sock"   # one left by a killed daemon would look like an answer
  start_recorded "rdmoved-$host" "$dir/rdmoved.out" \
    nsenter -t "$(pid_of "host-$host")" -n -m -u -- "$program" --config /etc/rdmove/rdmoved.toml
  wait_for 15 rdmoved_up_or_dead "$host" && alive "rdmoved-$host" ||
    die "rdmoved on $host did not come up: $(tail -n1 "$dir/rdmoved.out") (log: $dir/var/log/rdmove/rdmoved.log)"
}

lab_daemon() {
  local host=${2:?host}
  host_number "$host" >/dev/null
  case ${1:-} in
    start) start_rdmoved "$host" ;;
    stop) end_recorded "rdmoved-$host" TERM || die "rdmoved on $host ignores SIGTERM: lab daemon kill $host" ;;
    kill) end_recorded "rdmoved-$host" KILL ;;
    *) die "usage: lab daemon start|stop|kill HOST" ;;
  esac
}

# Not by itself: most tests of rdmove's own migrations go without, as a host that was not installed from the package.
lab_hook() {
  local host=${2:?host} dir program=$BUILD/coordinator/rdmove-hook folder
  host_number "$host" >/dev/null
  dir=$(host_dir "$host")/etc/libvirt/hooks
  case ${1:-} in
    on)
      [[ -x $program ]] || die "There is no rdmove-hook at $program: build it, or name the build folder in RDMOVE_BUILD."
      for folder in qemu.d daemon.d; do mkdir -p "$dir/$folder"; cp "$program" "$dir/$folder/rdmove"; done ;;
    off) rm -f "$dir"/{qemu,daemon}.d/rdmove ;;
    *) die "usage: lab hook on|off HOST" ;;
  esac
  kill -HUP "$(pid_of "libvirtd-$host")"   # libvirt looks for hooks at its start and at a reload
}
