# shellcheck shell=bash
# Each host's own libvirtd.

# libvirt asks QEMU for its capabilities once and keeps the answer; kept from one lab to the next it saves seconds.
# libvirt itself checks that it still fits the QEMU that is installed.
CAPABILITIES=var/cache/libvirt/qemu/capabilities
KEPT_CAPABILITIES=$BUILD/guest/capabilities
KEEPALIVE_SECONDS=1

configure_libvirt() {
  local host=$1 dir
  dir=$(host_dir "$host")
  # All of them read the same DMI: without a host_uuid libvirt would take them for one host and refuse to migrate. The keepalive decides how long a cut
  # link goes unnoticed (30 s by default).
  cat >"$dir/etc/libvirt/libvirtd.conf" <<CONF
host_uuid = "52540066-0000-4000-8000-$(printf %012x "$(host_number "$host")")"
listen_tls = 0
listen_tcp = 1
listen_addr = "$(host_address "$host")"
auth_tcp = "none"
auth_unix_rw = "none"
auth_unix_ro = "none"
keepalive_interval = $KEEPALIVE_SECONDS
keepalive_count = 2
log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
CONF
  cat >"$dir/etc/libvirt/qemu.conf" <<CONF
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = [ ]
namespaces = [ ]
stdio_handler = "file"
remember_owner = 0
dynamic_ownership = 0
migration_host = "$host"
default_tls_x509_cert_dir = "/etc/pki/qemu"
keepalive_interval = $KEEPALIVE_SECONDS
keepalive_count = 2
CONF
  mkdir -p "$dir/$CAPABILITIES"
  cp -p "$KEPT_CAPABILITIES/"*.xml "$dir/$CAPABILITIES/" 2>/dev/null || true
}

keep_capabilities() {
  mkdir -p "$KEPT_CAPABILITIES"
  cp -p "$(host_dir "$1")/$CAPABILITIES/"*.xml "$KEPT_CAPABILITIES/" 2>/dev/null || true
}

# host_virsh HOST ARGUMENT...: bounded, and without a terminal, on which virsh would start polkit's agent and let it complain.
host_virsh() {
  local host=$1
  shift
  on_host "$host" timeout -s KILL "${VIRSH_SECONDS:-20}" setsid --wait virsh -q -c qemu:///system "$@"
}

libvirt_answers_or_dead() { gone "libvirtd-$1" || libvirt_answers "$1"; }
libvirt_answers() { host_virsh "$1" uri >/dev/null 2>&1; }

launch_libvirtd() {
  local host=$1
  alive "libvirtd-$host" && return
  start_recorded "libvirtd-$host" "$(host_dir "$host")/libvirtd.out" \
    nsenter -t "$(pid_of "host-$host")" -n -m -u -- libvirtd --listen --pid-file /run/libvirt/libvirtd.pid
}

await_libvirtd() {
  wait_for 20 libvirt_answers_or_dead "$1" && alive "libvirtd-$1" ||
    die "libvirtd on $1 does not answer: $(grep ': error :' "$(host_dir "$1")/var/log/libvirt/libvirtd.log" | tail -n1)"
}

lab_libvirtd() {
  local host=${2:?host}
  host_number "$host" >/dev/null
  case ${1:-} in
    start) launch_libvirtd "$host"; await_libvirtd "$host" ;;
    kill) end_recorded "libvirtd-$host" KILL ;;
    restart) end_recorded "libvirtd-$host" TERM; launch_libvirtd "$host"; await_libvirtd "$host" ;;
    *) die "usage: lab libvirtd start|kill|restart HOST" ;;
  esac
}
