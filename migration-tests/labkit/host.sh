# shellcheck shell=bash
# A simulated host: network, mount and UTS namespaces kept by a holder process, with folders of its own bound over those
# that libvirt, rdmove and TLS use. /tmp, /dev and all else are the machine's.

HOST_FOLDERS=(/etc/libvirt /run/libvirt /var/lib/libvirt /var/log/libvirt /var/cache/libvirt
              /etc/rdmove /run/rdmove /var/lib/rdmove /var/log/rdmove /etc/pki)

# on_host HOST COMMAND...
on_host() {
  local holder host=$1
  holder=$(pid_of "host-$host") || die "Host $host is not up in lab $LAB: run lab up."
  shift
  nsenter -t "$holder" -n -m -u -W "$PWD" -- "$@"
}

make_host_folders() {
  local host=$1 dir folder other
  dir=$(host_dir "$host")
  for folder in "${HOST_FOLDERS[@]}"; do mkdir -p "$dir$folder"; done
  mkdir -p "$dir/var/log/libvirt/qemu"   # the console's log is opened before libvirt would make it
  {
    echo "127.0.0.1 localhost"
    for other in $(lab_hosts); do echo "$(host_address "$other") $other"; done
  } >"$dir/etc/hosts"
  # libvirtd asks for its package's user by name before it reads which user to use; only libvirt-daemon-system makes it.
  cp /etc/passwd /etc/group "$dir/etc/"
  grep -q ^libvirt-qemu: "$dir/etc/passwd" || echo "libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin" >>"$dir/etc/passwd"
  local group number=64055
  for group in libvirt-qemu kvm rdmove; do
    grep -q "^$group:" "$dir/etc/group" || echo "$group:x:$((number++)):" >>"$dir/etc/group"
  done
}

host_made_or_dead() { [[ -e $(host_dir "$1")/ready ]] || gone "host-$1"; }

start_host() {
  local host=$1 dir
  dir=$(host_dir "$host")
  start_recorded "host-$host" "$dir/holder.log" \
    nsenter -t "$(pid_of outer)" -n -m -- unshare -n -m -u bash "$kit/host-holder" "$host" "$dir" "${HOST_FOLDERS[@]}"
  wait_for 30 host_made_or_dead "$host" && [[ -e $dir/ready ]] ||
    die "Host $host was not made: $(head -n1 "$dir/holder.log" | grep . || echo "no answer after 30 s")"
  connect_host "$host"
}

lab_shell() {
  local host=${1:?host}
  shift
  [[ ${1:-} == -- ]] && shift
  if (( $# )); then on_host "$host" "$@"; else on_host "$host" env "PS1=$LAB:$host:\\w# " bash --norc; fi
}
