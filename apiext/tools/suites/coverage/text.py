"""The coverage as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.tools.suites.coverage.coverage import VersionCoverage

_LONGEST: Final = 160
_PLURALS: Final = {"property": "properties", "enum value": "enum values", "rule": "rules", "required": "required", "limit": "limits"}


def coverage_lines(found: Sequence[VersionCoverage]) -> Iterator[str]:
    """Yield the lines: for each version of a CRD the numbers, and what no case touched."""
    for each in found:
        numbers = ", ".join(f"{_PLURALS[kind]} {touched}/{every}" for kind, (touched, every) in each.counts().items())
        yield f"{each.crd} {each.version}: {numbers or 'no schema'}"
        for point in each.untouched:
            text = printable(" ".join(str(point).split()))
            yield f"  not touched: {text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}"
