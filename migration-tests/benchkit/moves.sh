# shellcheck shell=bash disable=SC2016
# One move of vm1, by either way, and what is measured of it. Uses bench's lab, out and stop_with.

PROGRAMS=(coordinator/rdmoved coordinator/rdmove guestagent/rdmove-agent migration-tests/rdma-beat)
PORT=7000
SETTLE=2                                  # seconds of undisturbed traffic before a move

measure_all() {
  local round
  rm -f "$out"/{moves.jsonl,result.json,blackout.svg}
  sed -n "/<interface/,/<\/interface>/H;/<\/interface>/{x;/$MAC/p;s/.*//;x}" <<<"$definition" | sed '/^$/d' >"$out/nic.xml"
  grep -q "$MAC" "$out/nic.xml" || stop_with "vm1 has no NIC $MAC."
  lab guest vm1 -- "echo $(base64 -w0 "$kit/guest-net") | base64 -d >/tmp/guest-net; chmod +x /tmp/guest-net"
  start_server
  export_moves
  for (( round = 1; round <= rounds; round++ )); do
    echo "round $round of $rounds" >&2
    # Each way goes in each direction once a round, and is first in its direction's pair as often as second.
    measure script "$round" hosta hostb
    measure rdmove "$round" hostb hosta
    measure rdmove "$round" hosta hostb
    measure script "$round" hostb hosta
  done

  jq -s --argjson conditions "$conditions" -f "$kit/result.jq" "$out/moves.jsonl" >"$out/result.json"
  jq -r -f "$kit/plot.jq" "$out/result.json" >"$out/blackout.svg"
  echo
  jq -r -f "$kit/table.jq" "$out/result.json"
  echo "written: $out/result.json and $out/blackout.svg"
}

peer_status() { lab guest peer --timeout 10 -- cat /run/rdma-beat.json 2>/dev/null; }

# Fails with a sentence, and keeps what tells why before the lab goes.
give_up() {
  {
    echo "== peer"; lab guest peer --timeout 10 -- cat /tmp/beat.log
    echo "== vm1"; lab guest vm1 --timeout 10 -- 'cat /tmp/beat.log; echo; cat /tmp/guest-net.log; rdma link; ip addr; tail -n 40 /var/log/rdmove-agent.log'
    echo "== move"; cat "$out/move.log"
  } >"$out/failure.log" 2>&1 || true
  stop_with "$* (log: $out/failure.log)"
}

start_server() {
  lab guest peer -- "rdma-beat server --port $PORT >/tmp/beat.log 2>&1 </dev/null &"
  wait_for 20 peer_serves || give_up "The peer's rdma-beat does not start"
}
peer_serves() { [[ -n $(peer_status) ]]; }

# The client's last run, as the server on the peer sees it: none of an earlier move is in it, since each move has a run
# of its own.
session() { peer_status | jq -e ".clients.vm1 | $1"; }

flows_anew() { session '(.connected == 1) and (.connections == 1) and (.last_blackout_ms == null) and (.received > 100)' >/dev/null; }
flows_again() { session '(.connected == 1) and (.connections >= 2) and (.last_blackout_ms != null)' >/dev/null; }

# What the guest runs in a round: the agent, or the administrator's loop; never both. Then a fresh client.
in_guest() {
  lab guest vm1 -- '
    end() { for p in $(pidof "$1"); do kill "$p" 2>/dev/null; done; tries=0
            while pidof "$1" >/dev/null && [ $tries -lt 100 ]; do usleep 50000; tries=$((tries + 1)); done; }
    end rdma-beat; end rdmove-agent
    [ -e /run/guest-net.pid ] && kill -TERM "-$(cat /run/guest-net.pid)" 2>/dev/null; rm -f /run/guest-net.pid
    rdma link show | grep -q "link anchor/" && rdma link del anchor
    '"$1"'
    rdma-beat client '"$PEER --port $PORT"' >/tmp/beat.log 2>&1 </dev/null &'
}

prepare_script() {
  in_guest 'setsid /tmp/guest-net '"$MAC $ADDRESS"' >/tmp/guest-net.log 2>&1 </dev/null & echo $! >/run/guest-net.pid'
}

prepare_rdmove() {
  in_guest 'setsid rdmove-agent >>/var/log/rdmove-agent.log 2>&1 </dev/null &'
  wait_for 20 registered || give_up "The client in vm1 does not register with rdmove-agent"
}
registered() { lab guest vm1 --timeout 10 -- cat /run/rdma-beat.json 2>/dev/null | jq -e .agent >/dev/null; }

move_script() { lab shell "$1" -- setsid --wait "$kit/script-migrate" vm1 "$2" "$out/nic.xml"; }
move_rdmove() { lab shell "$1" -- "$BUILD/coordinator/rdmove" migrate vm1 "$2"; }

export_moves() { export -f lab move_script move_rdmove; export tests kit out BUILD; }

# attempt WAY FROM TO: sets status, total and seen.
attempt() {
  local way=$1 began
  "prepare_$way"
  wait_for 60 flows_anew || give_up "The RDMA session of vm1 does not come up before a move by $way"
  sleep "$SETTLE"
  seen=$(lab guest peer -- 'grep -c "reconnected client=vm1" /tmp/beat.log || true')
  status=0
  began=${EPOCHREALTIME/./}
  timeout -k 5 120 bash -c "move_$way $2 $3" >"$out/move.log" 2>&1 </dev/null &
  wait $! || status=$?   # so that ^C is heard at once
  total=$(( ${EPOCHREALTIME/./} - began ))
}

# plug_back HOST: after an unplug that hung. It ends with the application that kept the device open.
plug_back() {
  lab guest vm1 -- 'kill -9 $(pidof rdma-beat)'
  wait_for 20 without_nic "$1" || give_up "vm1 does not let go of its NIC on $1"
  lab shell "$1" -- virsh -q attach-device vm1 "$out/nic.xml" --live </dev/null >>"$out/move.log" 2>&1
  wait_for 30 has_rdma || give_up "vm1 does not get its soft-RoCE device back on $1"
}
nics() { lab shell "$1" -- virsh -q domiflist vm1 </dev/null 2>&1; }
without_nic() { [[ $(nics "$1") != *"$MAC"* ]]; }
has_rdma() { [[ $(lab guest vm1 -- rdma link show) == *"link rxe0/"* ]]; }

# measure WAY ROUND FROM TO: one line to $out/moves.jsonl
measure() {
  local way=$1 round=$2 from=$3 to=$4 total status blackout steps='{}' own='{}' seen hung=0
  until attempt "$way" "$from" "$to"; [[ $way != script || $status != 75 || $hung == 4 ]]; do
    hung=$((hung + 1))
    echo "  script $from -> $to  the guest did not let go of its device; plugged back, once more" >&2
    plug_back "$from"
  done
  (( status == 0 )) || give_up "Move $round from $from to $to by $way failed with status $status"
  wait_for 60 flows_again || give_up "The RDMA session of vm1 did not come back after move $round by $way"

  blackout=$(session .last_blackout_ms)
  seen=$(( $(lab guest peer -- 'grep -c "reconnected client=vm1" /tmp/beat.log') - seen ))
  (( seen == 1 )) || give_up "The peer saw $seen interruptions, not one, in move $round by $way"
  [[ $(nics "$to") == *"$MAC"* ]] || give_up "vm1 is not on $to with its NIC after move $round by $way"
  if [[ $way == script ]]; then
    steps=$(grep '^{' "$out/move.log")
  else
    own=$(own_share "$from") || give_up "The timeline of move $round is not what own.jq knows"
  fi
  jq -nc --arg way "$way" --argjson round "$round" --arg from "$from" --arg to "$to" --argjson blackout "$blackout" \
    --argjson total "$total" --argjson hung "$hung" --argjson steps "$steps" --argjson own "$own" --argjson check "$(session '{connections, lost, duplicates, errors}')" '
    {way: $way, round: $round, from: $from, to: $to, blackout_ms: $blackout, total_ms: ($total / 1000), session: $check}
    + (if $way == "script" then {steps: $steps, hung: $hung} else {shares: ($own + {own_percent: (100 * $own.own_ms / $blackout)})} end)' >>"$out/moves.jsonl"
  printf '  %-6s %s -> %s  blackout %6.0f ms  total %6.0f ms\n' "$way" "$from" "$to" "$blackout" "$((total / 1000))" >&2
}

own_share() {
  local id
  id=$(lab shell "$1" -- "$BUILD/coordinator/rdmove" list --json </dev/null | jq -r '[.migrations[] | select(.role == "departure")] | max_by(.created_us | tonumber) | .id')
  lab shell "$1" -- "$BUILD/coordinator/rdmove" timeline "$id" --json </dev/null | jq -c -f "$kit/own.jq"
}
