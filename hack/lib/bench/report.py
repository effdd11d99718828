"""Renders the measurements as a Markdown table: rates, latencies, processor time and the ratio to the first target.

The processor time is that of the server, its store and the load generator; behind a host, that of the host comes first. The host's time
for a server that does nothing, behind the same aggregator, is the share of the proxy in that of a target behind a host.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from hack.lib.bench.loadgen import Result


class Processors(NamedTuple):
    """Milliseconds of processor time for each request or event."""

    server: float
    store: float
    load: float
    host: float = 0.0
    """That of the host which proxies to the server."""


class Figures(Protocol):
    """The measurements of one target."""

    results: dict[str, Result]
    cpu: dict[str, Processors]
    figures: dict[str, float]
    failed: dict[str, str]


_RATE: Final = ", per second"
"""The end of the labels of figures that are better when they are greater."""


def table(measured: Mapping[str, Figures], rows: Sequence[str]) -> str:
    """Return the table. A ratio is the target's figure divided by that of the first target; for memory and time it is inverted."""
    names = list(measured)
    head = ["row", *names, *(f"{name}: ratio" for name in names[1:])]
    lines = [_line(head), _line(["---"] * len(head))]
    first = measured[names[0]]
    for row in rows:
        if any(row in found.results or row in found.failed for found in measured.values()):
            cells = [_cell(found, row) for found in measured.values()]
            lines.append(_line([row, *cells, *(_rate_ratio(found, first, row) for found in list(measured.values())[1:])]))
    for label in dict.fromkeys(label for found in measured.values() for label in found.figures):
        cells = [_number(found.figures.get(label)) for found in measured.values()]
        pairs = [(first.figures.get(label), found.figures.get(label)) for found in list(measured.values())[1:]]
        ratios = [_ratio(ours, theirs) if label.endswith(_RATE) else _ratio(theirs, ours) for theirs, ours in pairs]
        lines.append(_line([label, *cells, *ratios]))
    return "\n".join(lines)


def proxy_shares(null: Figures, found: Figures) -> str:
    """Return a line with the host's processor time for a server that does nothing, in percent of that of a target with its host and store.

    Without a row of both it is empty.
    """
    shares = []
    for row, used in found.cpu.items():
        if row in null.cpu and (total := used.host + used.server + used.store):
            shares.append(f"{row} {null.cpu[row].host:.2f} of {total:.2f} ms ({100 * null.cpu[row].host / total:.0f} %)")
    return f"share of the proxy in the processor time of host, server and store: {', '.join(shares)}" if shares else ""


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(found: Figures, row: str) -> str:
    result = found.results.get(row)
    if result is None:
        return f"failed: {found.failed.get(row, 'not run')[:60]}"
    volume = f", {result.bytes / result.seconds / 1e6:,.0f} MB/s" if row.startswith("list") else ""
    used = found.cpu[row]
    cpu = " + ".join(f"{one:.2f}" for one in ((used.host,) if used.host else ()) + used[:3])
    return f"{result.rate:,.0f}/s{volume}, p50 {result.p50:.1f} p99 {result.p99:.1f} ms, {cpu} ms CPU"


def _rate_ratio(found: Figures, first: Figures, row: str) -> str:
    ours, theirs = found.results.get(row), first.results.get(row)
    return _ratio(ours.rate if ours else None, theirs.rate if theirs else None)


def _ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.1f}x" if one and other else "-"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"
