# shellcheck shell=bash
# The lab that is up as rdmove-failover's hosts file (docs/harness.md), reached and steered as an operator's hosts are:
# each script runs on the host that it is for, and nothing in it knows of a lab.

# awaited PROGRAM CONDITION: the rest of a script that has started it in the background.
awaited() { echo "until $2; do kill -0 \$! 2>/dev/null || { echo '$1 has ended'; exit 1; }; sleep 0.1; done"; }

# ended PID-FILE: the rest of a script, after which that process is gone. One that nobody has collected yet is gone too.
ended() {
  echo "pid=\$(cat $1) && kill \$pid && while grep -q '^State:.[^ZX]' /proc/\$pid/status 2>/dev/null; do sleep 0.05; done"
}

# unless_running PID-FILE NAME: the beginning of one; what is started twice is started once.
unless_running() {
  echo "pid=\$(cat $1 2>/dev/null); [ \"\$(cat /proc/\${pid:-0}/comm 2>/dev/null)\" = $2 ] && grep -q '^State:.[^ZX]' /proc/\$pid/status && exit 0"
}

host_toml() {
  local host=$1 lock=/var/lib/rdmove/journal.db.lock socket=/run/rdmove/rdmoved.sock pid=/run/libvirt/libvirtd.pid
  cat <<TOML
[hosts.$host]
address = "$(host_address "$host")"
run = ["nsenter", "-t", "$(pid_of "host-$host")", "-n", "-m", "-u", "--", "sh", "-c"]
rdmove = "$BUILD/coordinator/rdmove"
start_daemon = '''
$(unless_running $lock rdmoved)
rm -f $socket
setsid $BUILD/coordinator/rdmoved --config /etc/rdmove/rdmoved.toml >>/var/log/rdmove/rdmoved.out 2>&1 </dev/null &
$(awaited rdmoved "[ -S $socket ]")'''
stop_daemon = '''$(ended $lock)'''
start_libvirtd = '''
$(unless_running $pid libvirtd)
setsid libvirtd --listen --pid-file $pid >>/var/log/libvirt/libvirtd.out 2>&1 </dev/null &
$(awaited libvirtd 'virsh -q -c qemu:///system uri >/dev/null 2>&1')'''
stop_libvirtd = '''$(ended $pid)'''
libvirtd_pid = "cat $pid"

TOML
}

guest_toml() {
  cat <<TOML
[guests.$1]
address = "$(vm_address "$1" 77)"
run = ["$tests/lab", "guest", "$1", "--timeout", "25", "--"]
start_agent = "setsid rdmove-agent >>/var/log/rdmove-agent.log 2>&1 </dev/null &"
stop_agent = "kill \$(pidof rdmove-agent)"

TOML
}

lab_hosts_file() {
  local host vm
  [[ -e $STATE/complete ]] || die "Lab $LAB is not up: lab up --hosts hosta,hostb,hostc --vm vm1@hosta --vm peer@hostc"
  echo "# Lab $LAB, as it is up now. Its hosts have this machine's clock: run no scenario with a clock fault."
  for host in $(lab_hosts | head -n 2); do host_toml "$host"; done
  for vm in "$STATE"/vms/*.xml; do guest_toml "$(basename "$vm" .xml)"; done
}
