# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Messages one way as fast as they go, from vm1 to the peer, over librdmove's Channel and over verbs by hand in turn, on
# the same two guests. Emulated guests: the spread says what the ratio is worth. Uses bench's lab, out, rounds, conditions
# and stop_with.

PROGRAMS=(coordinator/rdmoved guestagent/rdmove-agent migration-tests/rdma-stream)

measure_all() {
  local size vm
  rm -f "$out"/{messages.jsonl,messages.json}
  for vm in vm1 peer; do
    lab install "$vm" "$BUILD/migration-tests/rdma-stream" || stop_with "rdma-stream does not come into $vm"
  done
  for size in 64 4096; do
    lab guest peer -- "rdma-stream server $PEER --size $size >/tmp/stream.log 2>&1 </dev/null & echo \$! >/run/stream.pid"
    wait_for 20 lab guest peer -- 'grep -q ready /tmp/stream.log' || stop_with "The peer's rdma-stream does not start"
    # A first round is not measured.
    lab guest vm1 --timeout 900 -- "rdma-stream client $PEER --size $size --rounds $((rounds + 1))" >"$out/stream.log" ||
      stop_with "rdma-stream fails (log: $out/stream.log)"
    tail -n +3 "$out/stream.log" | tee -a "$out/messages.jsonl" >&2
    lab guest peer -- 'kill $(cat /run/stream.pid)'
  done
  jq -s --argjson conditions "$conditions" '
    def median: sort | .[length / 2 | floor];
    def figures: {median: (median / 1000), min: (min / 1000), max: (max / 1000)};
    {conditions: $conditions, rows: group_by(.size) | map({size: .[0].size,
      raw_us: (map(select(.way == "raw").ns) | figures), channel_us: (map(select(.way == "channel").ns) | figures)}
      | .ratio = .channel_us.median / .raw_us.median
      | .distinguishable = (.channel_us.min > .raw_us.max or .channel_us.max < .raw_us.min))}' \
    "$out/messages.jsonl" >"$out/messages.json"
  echo
  jq -r 'def us: "\(.median * 10 | round / 10) (\(.min * 10 | round / 10) to \(.max * 10 | round / 10))";
    "| bytes | verbs by hand, us a message | Channel, us a message | ratio of medians | spreads apart |", "| --- | --- | --- | --- | --- |",
    (.rows[] | "| \(.size) | \(.raw_us | us) | \(.channel_us | us) | \(.ratio * 100 | round / 100) | \(if .distinguishable then "yes" else "no" end) |")' \
    "$out/messages.json"
  echo "written: $out/messages.json"
}
