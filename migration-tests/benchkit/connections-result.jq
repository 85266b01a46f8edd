# The measurements (slurped), and $conditions, to the result: for each count the medians, and ratios to the floor.
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def spread: {median: median, min: min, max: max, n: length};

{ conditions: $conditions,
  measurements: .,
  counts: (group_by(.count) | map(
    { count: .[0].count,
      ways: (group_by(.way) | map({key: .[0].way, value: {return_ms: (map(.return_ms) | spread),
                                                         blackout_ms: (map(.blackout_ms | select(. != null)) | spread)}}) | from_entries) }
    | .ways.floor.return_ms.median as $floor
    | .to_floor = (.ways | map_values(.return_ms.median / $floor)))) }
| .aims = (.counts | map({count, within_1_3_floor: (.to_floor.librdmove <= 1.3),
                          not_behind_event: (.ways.librdmove.return_ms.median <= .ways.event.return_ms.median)}))
