#!/bin/bash
# rdmove-shadow tells whole snapshots from others, prints them and says what differs.
set -euo pipefail
shadow=$1 sample=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$sample" >"$dir/a"
"$sample" 6 >"$dir/b"
head -c 100 "$dir/a" >"$dir/cut"

fail() { echo "failed: $*" >&2; exit 1; }
"$shadow" check "$dir/a" | grep -q "1 QPs" || fail "check of a whole snapshot"
"$shadow" dump "$dir/a" | grep -q "^qp 8: .*number=17" || fail "dump has no QP"
"$shadow" dump --deep "$dir/a" | grep -q "held\[0\].wr_id=5" || fail "a deep dump has no held send"
"$shadow" diff "$dir/a" "$dir/a" || fail "a snapshot differs from itself"
code=0; said=$("$shadow" diff "$dir/a" "$dir/b") || code=$?
[ "$code" = 1 ] && [ "$said" = "qp 8: state 3 -> 6" ] || fail "diff said '$said' ($code)"
for bad in cut none; do
  code=0; "$shadow" check "$dir/$bad" 2>"$dir/err" || code=$?
  [ "$code" = 2 ] || fail "check of $bad gave $code"
  grep -q "^rdmove-shadow: $dir/$bad: " "$dir/err" || fail "no word about $bad"
done
