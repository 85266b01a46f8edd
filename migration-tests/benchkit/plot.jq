# The result as an SVG: one dot for each move's blackout, a dashed line for each median.
def one: . * 10 | round | "\(. / 10 | floor).\(. % 10)";
def seconds: . / 1000 | . * 100 | round | . as $c | "\($c / 100 | floor).\($c / 10 | floor % 10)\($c % 10)";

(.pairs | length) as $n
| 64 as $x0 | 52 as $y0 | ([$n * 56, 280] | max) as $w | 280 as $h
| ([.moves[].blackout_ms] | max * 1.08) as $high
| ([100, 200, 500, 1000, 2000, 5000, 10000] | map(select($high / . <= 8)) | (.[0] // 20000)) as $step
| (($high / $step | ceil) * $step) as $top
| def x($i): $x0 + ($i + 0.5) * $w / $n | one;
  def y: $y0 + $h - . / $top * $h | one;
  def median($way; $what):
    "<line class=\"median \($way)\" x1=\"\($x0)\" x2=\"\($x0 + $w)\" y1=\"\(.blackout_ms.median | y)\" y2=\"\(.blackout_ms.median | y)\"/>",
    "<text class=\"\($way)\" x=\"\($x0 + $w + 10)\" y=\"\(.blackout_ms.median | y)\" dy=\"4\">\($what), median \(.blackout_ms.median | seconds) s</text>";
"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \($x0 + $w + 190) \($y0 + $h + 64)\" width=\"\($x0 + $w + 190)\" height=\"\($y0 + $h + 64)\" role=\"img\" aria-label=\"Blackout of each move, by the script and by rdmove\">",
"<style>
  svg { background: #ffffff; font: 12px sans-serif } text { fill: #333333; stroke: none } .title { font-size: 15px } .small { fill: #666666 }
  .grid { stroke: #e2e2e2 } .median { stroke-width: 1.5; stroke-dasharray: 6 4 }
  .script { fill: #b3541e; stroke: #b3541e } .rdmove { fill: #1f5fbf; stroke: #1f5fbf } text.script, text.rdmove { stroke: none }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181c } text { fill: #dddddd } .small { fill: #9a9a9a } .grid { stroke: #34373d }
    .script { fill: #f0a060; stroke: #f0a060 } .rdmove { fill: #7fb0ff; stroke: #7fb0ff } }
</style>",
"<text class=\"title\" x=\"16\" y=\"24\">Blackout as the peer saw it, seconds</text>",
(range(0; $top / $step + 1) * $step
 | "<line class=\"grid\" x1=\"\($x0)\" x2=\"\($x0 + $w)\" y1=\"\(y)\" y2=\"\(y)\"/><text class=\"small\" x=\"\($x0 - 8)\" y=\"\(y)\" dy=\"4\" text-anchor=\"end\">\(. / 1000 | one)</text>"),
(.pairs | to_entries[] | .key as $i | .value
 | "<rect class=\"script\" x=\"\(x($i) | tonumber - 4.5)\" y=\"\(.script.blackout_ms | y | tonumber - 4.5)\" width=\"9\" height=\"9\"><title>\(.script.blackout_ms | round) ms</title></rect>",
   "<circle class=\"rdmove\" cx=\"\(x($i))\" cy=\"\(.rdmove.blackout_ms | y)\" r=\"5\"><title>\(.rdmove.blackout_ms | round) ms</title></circle>",
   "<text class=\"small\" x=\"\(x($i))\" y=\"\($y0 + $h + 20)\" text-anchor=\"middle\">\(.round) \(.from[-1:])→\(.to[-1:])</text>"),
(.script | median("script"; "■ script")), (.rdmove | median("rdmove"; "● rdmove")),
"<text class=\"small\" x=\"\($x0)\" y=\"\($y0 + $h + 46)\">round and direction; \(.conditions.cores) cores, \(if .conditions.kvm then "KVM" else "no KVM" end), \(.conditions.date)</text>",
"</svg>"
