# shellcheck shell=bash
# The outer namespace: three bridges and no route out, so that a wrong address goes nowhere.
#   mgmt  10.66.0.0/24  hosts (.1, .2, …), in each as mgmt0
#   fab   10.77.0.0/24  guests' RDMA NICs, over each host's bridge br0
#   lan   10.88.0.0/24  guests' other NICs, over each host's bridge lan0; .254 is where `lab guest` calls from

in_outer() { nsenter -t "$(pid_of outer)" -n -- "$@"; }

outer_made_or_dead() { [[ -e $STATE/outer/ready ]] || gone outer; }

start_outer() {
  mkdir -p "$STATE/outer"
  start_recorded outer "$STATE/outer.log" unshare -n -m bash "$kit/outer-holder" "$STATE"
  wait_for 30 outer_made_or_dead && [[ -e $STATE/outer/ready ]] ||
    die "The outer namespace was not made: $(head -n1 "$STATE/outer.log" | grep . || echo "no answer after 30 s")"
}

# Links go from the outer namespace straight into the host's, so no name ever appears outside.
connect_host() {
  local host=$1 number holder
  number=$(host_number "$host")
  holder=$(pid_of "host-$host")
  in_outer ip -batch - <<LINKS
link add mgmt$number type veth peer name mgmt0 netns $holder
link add fab$number type veth peer name fabport netns $holder
link add lan$number type veth peer name lanport netns $holder
link set mgmt$number master mgmt up
link set fab$number master fab up
link set lan$number master lan up
LINKS
  on_host "$host" ip -batch - <<LINKS
addr add $(host_address "$host")/24 dev mgmt0
link set mgmt0 up
link add br0 type bridge forward_delay 0 mcast_snooping 0
link add lan0 type bridge forward_delay 0 mcast_snooping 0
link set fabport master br0 up
link set lanport master lan0 up
link set br0 up
link set lan0 up
LINKS
}

lab_link() {
  local direction
  case ${1:-} in cut) direction=down ;; heal) direction=up ;; *) die "usage: lab link cut|heal HOST" ;; esac
  in_outer ip link set "mgmt$(host_number "${2:?host}")" "$direction"
}

link_state() {
  if in_outer ip -o link show "mgmt$(host_number "$1")" | grep -q '[<,]UP[,>]'; then echo up; else echo cut; fi
}
