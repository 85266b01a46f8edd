# shellcheck shell=bash
# Names, places and small helpers that every part of the lab uses.

LAB=${RDMOVE_LAB:-default}
BUILD=${RDMOVE_BUILD:-$(cd "$tests/.." && pwd)/build/release}
export RDMOVE_BUILD=$BUILD
LABS=/run/rdmove-lab
STATE=$LABS/$LAB

say() { echo "lab: $*" >&2; }
die() { echo "lab: $*" >&2; exit 1; }

[[ $LAB =~ ^[a-z0-9][a-z0-9-]{0,31}$ ]] || die "RDMOVE_LAB=$LAB is no usable name: small letters, digits and dashes."

# wait_for SECONDS COMMAND...: until the command succeeds; status 1 when the time is over.
wait_for() {
  local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000))
  shift
  until "$@"; do
    (( ${EPOCHREALTIME/./} < deadline )) || return 1
    sleep 0.05
  done
}

# The hosts of this lab, in order; a host's number is its place.
lab_hosts() { tr ' ' '\n' <"$STATE/hosts" 2>/dev/null; }

host_number() {
  local number
  number=$(lab_hosts | grep -nxF -- "$1" | cut -d: -f1)
  [[ -n $number ]] || die "There is no host $1 in lab $LAB; it has: $(lab_hosts | paste -sd' ')."
  echo "$number"
}

host_address() { echo "10.66.0.$(host_number "$1")"; }
host_dir() { echo "$STATE/host/$1"; }

# One up or down at a time. The lock names its owner, so that one left by a killed run is known to be stale; a lock on
# an open file would be inherited by the daemons that this shell starts.
lock_lab() {
  local lock=$LABS/$LAB.lock owner start
  mkdir -p "$LABS"
  echo "$$ $(start_time $$)" >"$lock.$$"
  for (( tries = 0; tries < 600; tries++ )); do
    if ln "$lock.$$" "$lock" 2>/dev/null; then
      rm -f "$lock.$$"
      return
    fi
    read -r owner start <"$lock" 2>/dev/null || continue
    if [[ $(start_time "$owner") != "$start" ]]; then rm -f "$lock"; else sleep 0.1; fi
  done
  rm -f "$lock.$$"
  die "Another lab command (process $owner) has been working on lab $LAB for a minute."
}

unlock_lab() { rm -f "$LABS/$LAB.lock"; }
