# shellcheck shell=bash disable=SC2034,SC2154
# What an identity costs: 1 and 64 VFs of a PF get GUIDs and lose them, by the transaction and by a shell's `ip link`. In a
# guest, whose kernel has such a PF (labib). Uses bench's lab, out, rounds, conditions and stop_with.

PROGRAMS=(coordinator/rdmoved guestagent/rdmove-agent coordinator/fabric/identity_bench)

measure_all() {
  local vfs
  rm -f "$out"/{identities.jsonl,identities.json}
  lab install vm1 "$BUILD/coordinator/fabric/identity_bench" || stop_with "identity_bench does not come into the guest"
  lab guest vm1 -- 'load-labib num_vfs=64 && ip link add link eth1 name ib0 type labib && ip link set ib0 up' ||
    stop_with "The guest makes no PF with VFs"
  for vfs in 1 64; do
    lab guest vm1 --timeout 1800 -- "identity_bench ib0 $vfs $rounds" >>"$out/identities.jsonl" ||
      stop_with "identity_bench fails with $vfs VFs"
  done
  jq -s --argjson conditions "$conditions" '
    def median: sort | .[length / 2 | floor];
    {conditions: $conditions, rows: group_by(.vfs) | map({vfs: .[0].vfs, rounds: length,
      transaction_ms: (map(.transaction_us / 1000) | median), shell_ms: (map(.shell_us / 1000) | median),
      ratio: (map(.transaction_us / .shell_us) | median), ratio_min: (map(.transaction_us / .shell_us) | min),
      ratio_max: (map(.transaction_us / .shell_us) | max)})}' "$out/identities.jsonl" >"$out/identities.json"
  echo
  jq -r '"| VFs | transaction, ms | shell, ms | ratio (range) |", "| --- | --- | --- | --- |",
    (.rows[] | "| \(.vfs) | \(.transaction_ms * 10 | round / 10) | \(.shell_ms * 10 | round / 10) | \(.ratio * 1000 | round / 1000) (\(.ratio_min * 1000 | round / 1000) to \(.ratio_max * 1000 | round / 1000)) |")' \
    "$out/identities.json"
  echo "written: $out/identities.json"
}
