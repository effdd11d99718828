"""The table of what was proven."""

from collections.abc import Iterator, Sequence
from typing import Final

from hack.lib.conversions.proof import ProvenPair

_TITLES: Final = (
    *("CRD", "versions", "in process", "changed", "carrying", "stored", "changed", "carrying", "written", "changed", "carrying", "refused"),
    *("requests", "problems", "s"),
)


def summary_lines(pairs: Sequence[ProvenPair]) -> Iterator[str]:
    """Yield a line for each pair of versions, and sums: objects in process, stored in both servers and written to them."""
    rows = [
        (
            pair.trials.objects,
            pair.trials.changes,
            pair.trials.carrying,
            *(number for trips in (pair.stored, pair.written) for number in (trips.objects, trips.changed, trips.carrying)),
            pair.written.refused,
            pair.stored.requests + pair.written.requests,
            len(pair.problems),
            round(pair.seconds),
        )
        for pair in pairs
    ]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    lines = [
        _TITLES,
        *((pair.name, f"{pair.first} {pair.second}", *map(str, row)) for pair, row in zip(pairs, rows, strict=True)),
        ("all", "", *map(str, sums)),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, versions, *numbers in lines:
        texts = [name.ljust(widths[0]), versions.ljust(widths[1]), *map(str.rjust, numbers, widths[2:])]
        yield "  ".join(texts).rstrip()
