# The result as text. Columns are explained in docs/performance.md.
def left($n): tostring | . + (" " * ([$n - length, 0] | max));
def right($n): tostring | (" " * ([$n - length, 0] | max)) + .;
def whole: round;
def one: . * 10 | round | "\(. / 10 | floor).\(. % 10)";
def spread_of(f): "\(.min | f)-\(.max | f)";
def yes: if . then "yes" else "no" end;
def row($a; $cells): ($a | left(22)) + ($cells | map(right(12)) | join(""));

row("";                 ["script", "script", "rdmove", "rdmove", "own", "own"]),
row("round, direction"; ["blackout ms", "total ms", "blackout ms", "total ms", "ms", "%"]),
(.pairs[] | row("\(.round | right(2))  \(.from) -> \(.to)";
  [(.script.blackout_ms, .script.total_ms, .rdmove.blackout_ms, .rdmove.total_ms | whole), (.rdmove.shares | .own_ms, .own_percent | one)])),
row("median"; [(.script.blackout_ms, .script.total_ms, .rdmove.blackout_ms, .rdmove.total_ms | .median | whole), (.rdmove | .own_ms, .own_percent | .median | one)]),
row("min-max"; [(.script.blackout_ms, .script.total_ms, .rdmove.blackout_ms, .rdmove.total_ms | spread_of(whole)), (.rdmove | .own_ms, .own_percent | spread_of(one))]),
"",
"rdmove's median blackout is \(.ratio_of_medians.blackout * 100 | whole) % of the script's (aim: at most 50 %): \(.aims.half_of_median | yes)",
"rdmove's blackout is below the script's in \(.pairs_below) of \(.pairs | length) pairs (aim: all): \(.aims.below_in_every_pair | yes)",
"rdmove's own time is at most \(.rdmove.own_percent.max | one) % of its blackout (aim: below 5 %): \(.aims.own_below_5_percent | yes)",
"attempts by the script that hung before the transfer and were repeated, not in the table: \(.script.hung)",
"measured on: \(.conditions | "\(.cores) cores, \(if .kvm then "KVM" else "no KVM (TCG)" end), load \(.load) at the start, QEMU \(.qemu), libvirt \(.libvirt), \(.date)")"
