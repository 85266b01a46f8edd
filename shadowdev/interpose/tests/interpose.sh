#!/bin/bash
# interpose.sh DIRECTORY LIBIBVERBS LIBRDMACM RDMOVE-SHADOW: the libraries before these two export what they do, under the
# same versions, and programs that find ours first say what they say without them.
set -euo pipefail
export LC_ALL=C
before=$1 verbs=$2 cm=$3 shadow=$4
fail() { echo "failed: $*" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Without what our library before librdmacm asks for in the other one.
exports() {
  readelf -W --dyn-syms "$1" | awk '$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") { print $4, $8 }' |
    grep -v 'RDMOVE_1$' | sort
}
nodes() {
  readelf -W -V "$1" | awk '/^Version needs/ { exit } /Name: / || /Parent/ { print $NF }' | grep -vx RDMOVE_1
}
for real in "$verbs" "$cm"; do
  name=$(basename "$real")
  ours=$before/$name
  exports "$real" >"$dir/real"
  exports "$ours" >"$dir/ours"
  [ "$(wc -l <"$dir/real")" -gt 60 ] || fail "$name has no symbols that readelf shows"
  diff "$dir/real" "$dir/ours" || fail "$name: other symbols or versions"
  diff <(nodes "$real") <(nodes "$ours") || fail "$name: other version nodes"
  readelf -d "$ours" | grep -qF "soname: [$name]" || fail "$name: another SONAME"
done
readelf -d "$before/librdmacm.so.1" | grep -qF '[libibverbs.so.1]' || fail "librdmacm.so.1 does not need our libibverbs.so.1"

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

if command -v rping >/dev/null; then
  LD_TRACE_LOADED_OBJECTS=1 LD_LIBRARY_PATH=$before rping | grep -qF "librdmacm.so.1 => $before/" || fail "not found first"
  a=0 b=0
  rping -c -a 127.0.0.1 >"$dir/plain" 2>&1 || a=$?
  "${run[@]}" rping -c -a 127.0.0.1 >"$dir/shadowed" 2>&1 || b=$?
  diff "$dir/plain" "$dir/shadowed" || fail "rping says something else"
  [ "$a" = "$b" ] || fail "rping ended with $b instead of $a"
fi

code=0
"$shadow" run --require --libraries "$dir/none" -- true 2>"$dir/err" || code=$?
[ "$code" = 2 ] && grep -q "libibverbs.so.1" "$dir/err" || fail "--require without the library gave $code"
"$shadow" run --libraries "$dir/none" -- true 2>"$dir/err" || fail "without --require a program has to run"
grep -q "runs unshadowed" "$dir/err" || fail "no word about running unshadowed"
mkdir "$dir/half"
ln -s "$before/libibverbs.so.1" "$dir/half/"
code=0
"$shadow" run --require --libraries "$dir/half" -- true 2>"$dir/err" || code=$?
[ "$code" = 2 ] && grep -q "librdmacm.so.1" "$dir/err" || fail "--require with one of the libraries gave $code"
code=0
"$shadow" run --libraries "$before" -- sh -c 'exit 7' || code=$?
[ "$code" = 7 ] || fail "the program's exit code is lost ($code)"
