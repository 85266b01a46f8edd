# shellcheck shell=bash
# lab up and lab down.

parse_up() {   # sets hosts, vms, daemons
  hosts=hosta,hostb vms=() daemons=1
  while (( $# )); do
    case $1 in
      --hosts) hosts=${2:?hosts}; shift 2 ;;
      --vm) vms+=("${2:?vm}"); shift 2 ;;
      --no-daemons) daemons=; shift ;;
      *) die "lab up does not know $1." ;;
    esac
  done
  local host word
  for host in ${hosts//,/ }; do
    [[ $host =~ ^[a-z][a-z0-9-]{0,31}$ ]] || die "$host is no usable host name: small letters, digits and dashes."
  done
  (( ${#vms[@]} )) || vms=("vm1@${hosts%%,*}" "peer@${hosts##*,}")
  for word in "${vms[@]}"; do
    local vm host kind
    parse_vm "$word"
    vm_number "$vm" >/dev/null
    [[ ,$hosts, == *",$host,"* ]] || die "$word: there is no host $host among $hosts."
  done
}

# The image is the lab's own copy: a guest that migrates must find at the destination what it was started from, also
# when the build has gone on meanwhile.
take_image() {
  local file
  mkdir -p "$STATE/image"
  for file in vmlinux initramfs.cpio; do
    ln "$BUILD/guest/$file" "$STATE/image/$file" 2>/dev/null || cp "$BUILD/guest/$file" "$STATE/image/$file"
  done
}

make_lab() {
  local host
  mkdir -p "$STATE"
  echo "${hosts//,/ }" >"$STATE/hosts"
  take_image
  start_outer
  "$kit/kvm-probe" "$STATE/image" >/dev/null &   # up to seconds at its first time since boot; needed for the guests
  local probe=$!
  make_authority
  for host in ${hosts//,/ }; do
    make_host_folders "$host"
    make_certificate "$host"
    configure_libvirt "$host"
    configure_rdmoved "$host"
    start_host "$host"
    launch_libvirtd "$host"
  done
  wait "$probe"
}

# Each step does nothing where its work is done, so this is also what heals a lab.
complete_lab() {
  local host word
  for host in ${hosts//,/ }; do launch_libvirtd "$host"; done
  for host in ${hosts//,/ }; do await_libvirtd "$host"; done
  for word in "${vms[@]}"; do start_vm "$word"; done
  if [[ -n $daemons ]]; then
    for host in ${hosts//,/ }; do start_rdmoved "$host"; done
  fi
  for word in "${vms[@]}"; do await_guest "${word%@*}"; done
  keep_capabilities "${hosts%%,*}"
  touch "$STATE/complete"
}

whole() {   # the namespaces that this call asks for are there
  local host
  [[ $(cat "$STATE/hosts" 2>/dev/null) == "${hosts//,/ }" && -e $STATE/complete ]] && alive outer || return 1
  for host in ${hosts//,/ }; do alive "host-$host" || return 1; done
}

take_down() {
  local record
  for record in "$STATE"/pids/*; do
    [[ -e $record ]] && { end_recorded "$(basename "$record")" || true; }
  done
  end_members || { say "These processes of lab $LAB do not end: $(lab_members | paste -sd' ')"; return 1; }
  rm -rf "$STATE"
}

lab_down() {
  trap unlock_lab EXIT
  lock_lab
  take_down
}

lab_up() {
  local hosts vms daemons started=$SECONDS
  parse_up "$@"
  [[ -z $daemons || -x $BUILD/coordinator/rdmoved ]] ||
    die "There is no rdmoved at $BUILD/coordinator/rdmoved: build it, name the build folder in RDMOVE_BUILD, or use --no-daemons."
  ensure_packages "${LAB_PACKAGES[@]}" || exit 1
  "$tests/guest/build-image" >/dev/null || exit 1

  trap unlock_lab EXIT
  lock_lab
  if ! whole; then
    take_down
    # Failed or interrupted, it leaves nothing behind.
    [[ -n ${RDMOVE_LAB_KEEP:-} ]] || trap 'take_down || true; unlock_lab' EXIT
    trap 'say "interrupted: taking it down"; exit 130' INT TERM HUP
    make_lab
  fi
  complete_lab
  trap unlock_lab EXIT
  say "$LAB is up after $((SECONDS - started)) s: hosts ${hosts//,/ }; guests ${vms[*]}"
}
