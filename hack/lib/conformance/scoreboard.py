"""Renders the scoreboard of the conformance suite as text."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from hack.lib.conformance.suite_run import Outcome, Result

_WIDTH: Final = 30
_REASON: Final = 200  # characters of a failure's reason
_GOOD: Final = frozenset({Outcome.PASSED, Outcome.SKIPPED})


def render(columns: Mapping[str, Sequence[Result]]) -> str:
    """Return a table with a row for each file: the number of tests and subtests by outcome, for each server."""
    lines = [" " * _WIDTH + "".join(f"{name:>42}" for name in columns)]
    head = f"{'passed':>10}{'failed':>8}{'not run':>9}{'subtests':>15}"
    lines.append(f"{'file':{_WIDTH}}" + head * len(columns))
    files = [[(file, list(rows)) for file, rows in groupby(column, lambda one: one.test.file)] for column in columns.values()]
    lines += [f"{row[0][0]:{_WIDTH}}" + "".join(_cells(results) for _, results in row) for row in zip(*files, strict=True)]
    lines.append(f"{'all':{_WIDTH}}" + "".join(_cells(column) for column in columns.values()))
    lines.append(f"{'seconds, one after another':{_WIDTH}}" + "".join(f"{sum(one.seconds for one in c):>42.0f}" for c in columns.values()))
    return "\n".join(lines)


def failures(results: Sequence[Result], reference: Sequence[Result]) -> str:
    """Return one line with the reason for each test that did not pass, marked if the reference did not pass it either."""
    also = {one.test.name for one in reference if one.outcome not in _GOOD}
    lines = []
    for one in results:
        if one.outcome in _GOOD:
            continue
        mark = " (so does the reference)" if one.test.name in also else ""
        lines.append(f"{one.test.file}: {one.test.name} {one.outcome.value}{mark}: {' '.join(one.reason.split())[:_REASON]}")
        lines += [f"    {name}" for name, outcome in one.subtests.items() if outcome not in _GOOD]
    return "\n".join(lines)


def _cells(results: Sequence[Result]) -> str:
    def tests(outcome: Outcome) -> int:
        return sum(one.outcome is outcome for one in results)

    subtests = sum(len(one.subtests) for one in results)
    passed = sum(one.count(Outcome.PASSED) + one.count(Outcome.SKIPPED) for one in results)
    share = f"{passed}/{subtests}" if subtests else ""
    return f"{tests(Outcome.PASSED) + tests(Outcome.SKIPPED):>10}{tests(Outcome.FAILED):>8}{tests(Outcome.NOT_RUN):>9}{share:>15}"
