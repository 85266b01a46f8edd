#!/bin/bash
# interpose.sh DIRECTORY REAL RDMOVE-SHADOW: the library before libibverbs exports what libibverbs does, under the same
# versions, and programs that find it first say what they say without it.
set -euo pipefail
export LC_ALL=C
before=$1 real=$2 shadow=$3
ours=$before/libibverbs.so.1
fail() { echo "failed: $*" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

exports() {
  readelf -W --dyn-syms "$1" | awk '$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") { print $4, $8 }' | sort
}
nodes() {
  readelf -W -V "$1" | awk '/^Version needs/ { exit } /Name: / || /Parent/ { print $NF }'
}
exports "$real" >"$dir/real"
exports "$ours" >"$dir/ours"
[ "$(wc -l <"$dir/real")" -gt 100 ] || fail "the real library has no symbols that readelf shows"
diff "$dir/real" "$dir/ours" || fail "other symbols or versions"
diff <(nodes "$real") <(nodes "$ours") || fail "other version nodes"
readelf -d "$ours" | grep -q 'soname: \[libibverbs.so.1\]' || fail "another SONAME"

command -v ibv_devinfo >/dev/null && command -v ibv_devices >/dev/null || {
  echo "skipped after the comparison of symbols: ibv_devinfo and ibv_devices (ibverbs-utils) are not installed"
  exit 77
}
run=("$shadow" run --require --libraries "$before" --)
LD_TRACE_LOADED_OBJECTS=1 LD_LIBRARY_PATH=$before ibv_devinfo | grep -qF "libibverbs.so.1 => $before/" || fail "not found first"
for program in "ibv_devinfo" "ibv_devinfo -l" "ibv_devices"; do
  a=0 b=0
  $program >"$dir/plain" 2>&1 || a=$?
  LD_DEBUG=libs LD_DEBUG_OUTPUT="$dir/loads" "${run[@]}" $program >"$dir/shadowed" 2>&1 || b=$?
  diff "$dir/plain" "$dir/shadowed" || fail "$program says something else"
  [ "$a" = "$b" ] || fail "$program ended with $b instead of $a"
  grep -qF "calling init: $before/libibverbs.so.1" "$dir"/loads.* || fail "$program did not get the library"
  rm -f "$dir"/loads.*
done

code=0
"$shadow" run --require --libraries "$dir/none" -- true 2>"$dir/err" || code=$?
[ "$code" = 2 ] && grep -q "libibverbs.so.1" "$dir/err" || fail "--require without the library gave $code"
"$shadow" run --libraries "$dir/none" -- true 2>"$dir/err" || fail "without --require a program has to run"
grep -q "runs unshadowed" "$dir/err" || fail "no word about running unshadowed"
code=0
"$shadow" run --libraries "$before" -- sh -c 'exit 7' || code=$?
[ "$code" = 7 ] || fail "the program's exit code is lost ($code)"
