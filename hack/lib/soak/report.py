"""Renders outcomes as a Markdown table, row by row."""

from collections import Counter
from typing import Final

from hack.lib.soak.observation import Outcome

_COLUMNS: Final = (
    "input",
    "seconds",
    "stall, ms",
    "host's own stall, ms",
    "peak memory, MiB",
    "remaining, MiB",
    "answers",
    "worst",
    "not met",
)


def head(title: str) -> str:
    """Return the head of a table."""
    return "\n".join(["", title, "", _line(_COLUMNS), _line(["---"] * len(_COLUMNS))])


def row(outcome: Outcome) -> str:
    """Return the row of an outcome. The worst answer is the one with the highest status code."""
    counts: Counter[int] = Counter()
    for (status, _), count in outcome.answers.items():
        counts[status] += count
    answers = ", ".join(f"{count} x {status or 'none'}" for status, count in sorted(counts.items()))
    message = next((text for (status, text) in outcome.answers if status == outcome.worst and text), "")
    cells = [outcome.name, f"{outcome.seconds:.1f}", f"{outcome.observations.slowest_ms:,.0f}"]
    cells += [f"{outcome.host_stall_ms:,.0f}" if outcome.host else "", f"{outcome.peak_mib:+,.0f}"]
    cells += [f"{outcome.remaining_mib:+,.0f}", answers, f"{outcome.worst} {message}".strip(), "; ".join(outcome.violations())]
    return _line([cell.replace("|", "\\|").replace("\n", " ")[:200] for cell in cells])


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
