# shellcheck shell=bash
# Long-lived processes of the lab. Each is recorded as "PID START-TIME" in $STATE/pids before it does anything, so that
# a later command ends exactly that process and never another one that got its number.

start_time() { { sed "s/.*) //" "/proc/$1/stat" | cut -d" " -f20; } 2>/dev/null; }

# pid_of NAME: its process, if that still lives.
pid_of() {
  local pid start
  read -r pid start 2>/dev/null <"$STATE/pids/$1" || return 1
  [[ -n $start && $(start_time "$pid") == "$start" ]] || return 1
  [[ $(sed "s/.*) //" "/proc/$pid/stat" 2>/dev/null) != [ZX]* ]] && echo "$pid"
}

alive() { pid_of "$1" >/dev/null; }
gone() { ! alive "$1"; }

# start_recorded NAME LOG COMMAND...: in its own session, or ^C would end it together with this shell.
start_recorded() {
  local name=$1 log=$2
  shift 2
  mkdir -p "$STATE/pids"
  setsid bash "$kit/recorded" "$STATE/pids/$name" $$ "$@" </dev/null >>"$log" 2>&1 &
  disown
  wait_for 30 recorded_by "$name" $! || die "$name did not start: $(tail -n1 "$log")"
}

# A process that has already ended counts too: whoever needs it waits for more than its start, and says why it ended.
recorded_by() { [[ $(cut -d' ' -f1 "$STATE/pids/$1" 2>/dev/null) == "$2" ]]; }

# end_recorded NAME [SIGNAL]: KILL unless said; returns when it is gone.
end_recorded() {
  local pid
  pid=$(pid_of "$1") || return 0
  kill "-${2:-KILL}" "$pid" 2>/dev/null || true
  wait_for 10 gone "$1"
}

# Processes that live in one of this lab's mount namespaces, by the mounts that only those have. It finds what a killed
# run had no time to record and what a recorded process has started (QEMU).
lab_members() { grep -lsF -- "/rdmove-lab/$LAB/" /proc/[0-9]*/mountinfo | cut -d/ -f3; }

no_members() { [[ -z $(lab_members) ]]; }

end_members() {
  local pid
  for pid in $(lab_members); do
    [[ $pid == "$$" ]] || kill -KILL "$pid" 2>/dev/null || true
  done
  wait_for 10 no_members
}
