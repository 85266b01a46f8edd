# The moves (slurped), and $conditions, to the result: pairs of the same round and direction, medians, ratio.
def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def spread: {median: median, min: min, max: max};
def of($way): map(select(.way == $way));

. as $moves
| { conditions: $conditions,
    rounds: ($moves | map(.round) | max),
    moves: $moves,
    pairs: [$moves | of("script")[] as $s | of("rdmove")[] as $r | select($s.round == $r.round and $s.from == $r.from)
            | {round: $s.round, from: $s.from, to: $s.to, script: $s, rdmove: $r}],
    script: ($moves | of("script") | {blackout_ms: (map(.blackout_ms) | spread), total_ms: (map(.total_ms) | spread), hung: (map(.hung) | add)}),
    rdmove: ($moves | of("rdmove") | {blackout_ms: (map(.blackout_ms) | spread), total_ms: (map(.total_ms) | spread),
                                      own_ms: (map(.shares.own_ms) | spread), own_percent: (map(.shares.own_percent) | spread)}) }
| .ratio_of_medians = {blackout: (.rdmove.blackout_ms.median / .script.blackout_ms.median),
                       total: (.rdmove.total_ms.median / .script.total_ms.median)}
| .pairs_below = (.pairs | map(select(.rdmove.blackout_ms < .script.blackout_ms)) | length)
| .aims = {half_of_median: (.ratio_of_medians.blackout <= 0.5), below_in_every_pair: (.pairs_below == (.pairs | length)),
           own_below_5_percent: (.rdmove.own_percent.max < 5)}
