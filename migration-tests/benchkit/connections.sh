# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Coming back with 1, 64, 512 connections: librdmove (rdmove-ping) and two plain programs (rdma-many), each after a move
# of its own, and the floor on a device that never left. Uses bench's lab, out, counts, rounds and stop_with.

PROGRAMS=(coordinator/rdmoved coordinator/rdmove guestagent/rdmove-agent guestagent/rdmove-ping migration-tests/rdma-many)
MANY_PORT=7600
PING_PORT=7472
MANY=/run/rdma-many.json
PING=/run/rdmove-ping.json
DEADLINE=30000                            # ms for applications to let go: an emulated guest takes its time with 512
SETTLE=2                                  # seconds of undisturbed traffic before a move

measure_all() {
  local round count at=hosta
  rm -f "$out"/{connections.jsonl,connections.json}
  start_servers
  for count in ${counts//,/ }; do
    for (( round = 1; round <= rounds; round++ )); do
      echo "$count connections, round $round of $rounds" >&2
      floor "$count" "$round"
      for way in $(in_turn "$round" event librdmove textbook); do
        move "$way" "$count" "$round"
      done
    done
  done
  jq -s --argjson conditions "$conditions" -f "$kit/connections-result.jq" "$out/connections.jsonl" >"$out/connections.json"
  echo
  jq -r -f "$kit/connections-table.jq" "$out/connections.json"
  echo "written: $out/connections.json"
}

# in_turn ROUND WAY...: the ways, another one first in each round.
in_turn() {
  local first=$((($1 - 1) % ($# - 1)))
  shift
  echo "${@:first + 1}" "${@:1:first}"
}

# give_up SENTENCE: fails, and keeps what tells why before the lab goes.
give_up() {
  {
    for vm in peer vm1; do
      echo "== $vm"
      lab guest "$vm" --timeout 20 -- "tail -n 30 /tmp/many.log /tmp/ping.log; head -c 2000 $MANY; head -n 1 $PING; rdma res; tail -n 40 /var/log/rdmove-agent.log"
    done
    echo "== move"; cat "$out/move.log"
  } >"$out/failure.log" 2>&1 || true
  stop_with "$* (log: $out/failure.log)"
}

status_of() { lab guest "$1" --timeout 20 -- "head -n 1 $2" 2>/dev/null; }
says() { status_of "$1" "$2" | jq -e "$3" >/dev/null; }

start_servers() {
  lab guest peer -- "rdma-many server --port $MANY_PORT --status $MANY >/tmp/many.log 2>&1 </dev/null &"
  lab guest peer -- "rdmove-ping --server --port $PING_PORT --status-file $PING >/tmp/ping.log 2>&1 </dev/null &"
  wait_for 20 says peer "$MANY" . || give_up "The peer's rdma-many does not start"
  wait_for 20 says peer "$PING" . || give_up "The peer's rdmove-ping does not start"
}

# Milliseconds between two messages of one connection, so that the guests have the same number to carry at each count.
interval() { echo $(( $1 * 2 > 50 ? $1 * 2 : 50 )); }

# record WAY COUNT ROUND RETURN-MS PEER-BLACKOUTS-MS (JSON list, or null)
record() {
  jq -nc --arg way "$1" --argjson count "$2" --argjson round "$3" --argjson return_ms "$4" --argjson blackouts "$5" \
    '{$way, $count, $round, $return_ms, blackout_ms: ($blackouts // [] | max)}' | tee -a "$out/connections.jsonl" |
    jq -r '"  \(.way): all answered after \(.return_ms | round) ms" + (if .blackout_ms then ", the peer was without for \(.blackout_ms | round) ms" else "" end)' >&2
}

# floor COUNT ROUND: made, answered, let go, on a device that stays; the best that this guest does.
floor() {
  lab guest vm1 --timeout 300 -- "rdma-many floor $PEER --port $MANY_PORT --connections $1 --rounds 3 --interval-ms $(interval "$1") --status $MANY >/tmp/many.log 2>&1" ||
    give_up "The floor was not measured at $1 connections"
  local each
  for each in $(status_of vm1 "$MANY" | jq -r '.round_ms[]'); do record floor "$1" "$2" "$each" null; done
  wait_for 60 says peer "$MANY" '.connected == 0' || give_up "The peer keeps connections of the floor"
}

# move WAY COUNT ROUND: a fresh client, a move to the other host, the client's word and the peer's.
move() {
  local way=$1 count=$2 to program=rdma-many file=$MANY ready
  if [[ $way == librdmove ]]; then
    program=rdmove-ping file=$PING ready="(.up == $count) and (.delivered >= 3 * $count)"
    lab guest vm1 -- "rdmove-ping $PEER --port $PING_PORT --connections $count --size 64 --rate $(rate "$count") --status-file $PING >/tmp/ping.log 2>&1 </dev/null & echo \$! >/run/client.pid"
  else
    ready="(.up == $count) and (.answered >= 3 * $count)"
    lab guest vm1 -- "rdma-many $way $PEER --port $MANY_PORT --connections $count --interval-ms $(interval "$count") --status $MANY >/tmp/many.log 2>&1 </dev/null & echo \$! >/run/client.pid"
  fi
  wait_for 240 says vm1 "$file" "$ready" || give_up "$count connections by $way do not come up"
  wait_for 20 registered "$program" || give_up "$program in vm1 does not register with rdmove-agent"
  sleep "$SETTLE"
  [[ $at == hosta ]] && to=hostb || to=hosta
  lab shell "$at" -- "$BUILD/coordinator/rdmove" migrate vm1 "$to" --prepare-deadline $DEADLINE </dev/null >"$out/move.log" 2>&1 ||
    give_up "The move with $count connections by $way failed"
  at=$to
  wait_for 240 came_back "$way" "$count" || give_up "$count connections by $way did not all come back"
  record "$way" "$count" "$3" "$(return_of "$way")" "$(blackouts_of "$way" "$count")"
  lab guest vm1 -- 'kill -INT $(cat /run/client.pid)'
  wait_for 60 ended || give_up "$program in vm1 does not end"
  wait_for 60 says peer "$([[ $way == librdmove ]] && echo "$PING" || echo "$MANY")" '(.connected // .up) == 0' || give_up "The peer keeps connections of $way"
}
# Messages a second of one connection of rdmove-ping, which takes whole numbers.
rate() { echo $(( 1000 / $(interval "$1") > 0 ? 1000 / $(interval "$1") : 1 )); }
registered() { [[ $(lab shell "$at" -- "$BUILD/coordinator/rdmove" agent vm1 apps --json </dev/null) == *"$1"* ]]; }
ended() { lab guest vm1 -- '! kill -0 $(cat /run/client.pid) 2>/dev/null'; }

came_back() {
  if [[ $1 == librdmove ]]; then
    says vm1 "$PING" "(.up == $2) and (.last_return_us > 0)"
  else
    says vm1 "$MANY" "(.up == $2) and (.round_ms | length == 1)"
  fi
}
return_of() {
  if [[ $1 == librdmove ]]; then
    status_of vm1 "$PING" | jq '.last_return_us / 1000'
  else
    status_of vm1 "$MANY" | jq '.round_ms[0]'
  fi
}
# Of each connection, by the peer's clock. rdmove-ping's server numbers its connections as they come.
blackouts_of() {
  if [[ $1 == librdmove ]]; then
    lab guest peer --timeout 20 -- "tail -n $2 $PING" | jq -sc '[.[].blackouts_us | last // empty | . / 1000]'
  else
    local run
    run=$(status_of vm1 "$MANY" | jq -r .run)
    lab guest peer --timeout 20 -- "cat $MANY" | jq -c ".runs[\"$run\"].blackouts_ms"
  fi
}
