#!/bin/bash
# generate.sh LIBRARY OUTPUT-DIRECTORY [NAME]: what a library that stands before LIBRARY has to export, from LIBRARY's own
# dynamic symbols: trampolines.S (a jump through a slot for each function and version), names.inc (whose slot is
# whose) and versions.map (the version nodes, in the library's order and with its parents). NAME is one more function,
# which other libraries of ours ask for.
set -euo pipefail
export LC_ALL=C
library=$1 out=$2 own=${3:-}

symbols=$(readelf -W --dyn-syms "$library" |
  awk '$7 != "UND" && $7 != "ABS" && ($5 == "GLOBAL" || $5 == "WEAK") && $8 ~ /@/ { print $4, $3, $8 }' | sort -k3)
[ -n "$symbols" ] || { echo "$library exports nothing with a version" >&2; exit 1; }

awk '
  BEGIN { print ".text" }
  $1 == "FUNC" {
    printf ".globl rdmove_jump_%d\n.type rdmove_jump_%d, @function\n", n, n
    printf "rdmove_jump_%d:\n  endbr64\n  jmp *rdmove_slots+%d(%%rip)\n", n, 8 * n
    printf ".size rdmove_jump_%d, . - rdmove_jump_%d\n.symver rdmove_jump_%d, %s\n\n", n, n, n, $3
    n++
  }
  # Written by the library, read by its providers: both find this one, since it comes first in the search order.
  $1 == "OBJECT" {
    printf ".bss\n.globl rdmove_data_%d\n.type rdmove_data_%d, @object\n.size rdmove_data_%d, %d\n", m, m, m, $2
    printf ".balign 16\nrdmove_data_%d: .zero %d\n.symver rdmove_data_%d, %s\n.text\n\n", m, $2, m, $3
    m++
  }
  END {
    printf ".bss\n.globl rdmove_slots\n.hidden rdmove_slots\n.balign 8\nrdmove_slots: .zero %d\n", 8 * n
    print ".section .note.GNU-stack,\"\",@progbits"
  }' <<<"$symbols" >"$out/trampolines.S"

awk '$1 == "FUNC" { split($3, part, /@+/); printf "{\"%s\", \"%s\"},\n", part[1], part[2] }' \
  <<<"$symbols" >"$out/names.inc"

readelf -W -V "$library" | awk '
  /^Version needs/ { exit }
  /Name: / && /Rev:/ { node = $NF; base = /Flags: BASE/; if (!base) order[++n] = node }
  /Parent 1:/ { parent[node] = $NF }
  END { for (i = 1; i <= n; i++) print order[i], parent[order[i]] }' |
  while read -r node parent; do
    echo "$node {"
    awk -v node="$node" '{ split($3, part, /@+/); if (part[2] == node) names = names "    " part[1] ";\n" }
      END { if (names != "") printf "  global:\n%s", names }' <<<"$symbols"
    [ -n "$parent" ] || [ -n "${hidden:-}" ] || echo "  local: *;"
    [ -n "$parent" ] || hidden=yes
    echo "} $parent;"
    echo
  done >"$out/versions.map"
[ -z "$own" ] || printf 'RDMOVE_1 {\n  global:\n    %s;\n};\n' "$own" >>"$out/versions.map"
