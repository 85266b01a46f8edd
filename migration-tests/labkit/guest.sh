# shellcheck shell=bash
# Commands in a guest, over the LAN that stays with it: no matter which host has it, and a running command survives a
# migration (a virtio-serial stream would end there).

guest_answers() { in_outer timeout 3 bash "$kit/guest-call" "$(vm_address "$1" 88)" ping >/dev/null 2>&1; }

await_guest() { wait_for "${2:-150}" guest_answers "$1" || die "Guest $1 does not come up; its console: lab console $1"; }

lab_guest() {
  local vm=${1:?vm} limit=60 stdin="" id address body rc=0 answer
  shift
  while (( $# )); do
    case $1 in
      --timeout) limit=$2; shift 2 ;;
      --stdin) stdin=1; shift ;;
      --) shift; break ;;
      *) break ;;
    esac
  done
  (( $# )) || die "usage: lab guest VM [--timeout S] [--stdin] -- COMMAND..."
  alive outer || die "Lab $LAB is not up."
  address=$(vm_address "$vm" 88)
  id=$$-${EPOCHREALTIME/./}
  body=$(mktemp)
  # shellcheck disable=SC2064
  trap "rm -f '$body'" EXIT
  printf '%s\n%s' "$(printf %s "$*" | wc -c)" "$*" >"$body"
  [[ -z $stdin ]] || cat >>"$body"

  in_outer timeout "$limit" bash "$kit/guest-call" "$address" "run?$id" "$body" || rc=$?
  if (( rc == 124 )); then
    in_outer timeout 3 bash "$kit/guest-call" "$address" "status?$id+kill" >/dev/null 2>&1 || true
    say "$vm: no end after $limit s: $*"
    return 124
  fi
  answer=$(in_outer timeout 10 bash "$kit/guest-call" "$address" "status?$id" && echo .) || {
    say "Guest $vm does not answer any more."
    return 255
  }
  answer=${answer%.}
  printf %s "${answer#*$'\n'}" >&2
  return "${answer%%$'\n'*}"
}

lab_install() {
  local vm=${1:?vm} root program path rc=0
  shift
  (( $# )) || die "usage: lab install VM PROGRAM..."
  # shellcheck source=migration-tests/guest/image-parts.sh
  source "$tests/guest/image-parts.sh"
  root=$(mktemp -d)
  for program in "$@"; do
    path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$program") || { rm -rf "$root"; die "This machine has no $program."; }
    copy_program "$root" "$(readlink -f "$path")" "/usr/bin/$(basename "$program")"
  done
  tar -C "$root" -cz . | lab_guest "$vm" --stdin -- 'gunzip | tar -x -C /' || rc=$?
  rm -rf "$root"
  return $rc
}

lab_console() {
  local host
  host=$(vm_host "${1:?vm}") || die "$1 runs on no host of lab $LAB."
  on_host "$host" virsh -q console --force "$1"
}
