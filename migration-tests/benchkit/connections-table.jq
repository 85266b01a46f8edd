# The result as text. Columns are explained in docs/performance.md.
def left($n): tostring | . + (" " * ([$n - length, 0] | max));
def right($n): tostring | (" " * ([$n - length, 0] | max)) + .;
def two: . * 100 | round | "\(. / 100 | floor).\(. / 10 | floor % 10)\(. % 10)";
def row($cells): ($cells[0] | right(11)) + "  " + ($cells[1] | left(10)) + ($cells[2:] | map(right(16)) | join(""));

row(["connections", "way", "return ms", "min-max", "of the floor", "peer blackout ms"]),
(.counts[] | . as $of | ("floor", "librdmove", "event", "textbook") as $way | .ways[$way]
 | row([$of.count, $way, (.return_ms.median | round), "\(.return_ms.min | round)-\(.return_ms.max | round)",
        ($of.to_floor[$way] | two), (.blackout_ms.median | if . then round else "-" end)])),
"",
(.aims[] | "\(.count): librdmove within 1.3 of the floor: \(if .within_1_3_floor then "yes" else "no" end); not behind the event-driven program: \(if .not_behind_event then "yes" else "no" end)"),
"measured on: \(.conditions | "\(.cores) cores, \(if .kvm then "KVM" else "no KVM (TCG)" end), load \(.load) at the start, QEMU \(.qemu), libvirt \(.libvirt), \(.date)")"
