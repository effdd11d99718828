"""Writes the lines of a generated function, and what its statements cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_TAB: Final = " "
MAX_DEPTH: Final = 12
"""Nested blocks of a generated function; Python compiles 20 at most."""


class FunctionWriter:
    """The statements of a function."""

    def __init__(self, *, counting: bool) -> None:
        self.counting = counting
        """Whether the function adds up costs in `meter`."""
        self.depth = 1
        self._lines: list[str] = []
        self._regions: list[tuple[int, list[int]]] = []

    def line(self, text: str) -> None:
        """Write a statement."""
        self._lines.append(_TAB * self.depth + text)

    def placeholder(self) -> int:
        """Reserve a line; see `fill`."""
        self._lines.append("")
        return len(self._lines) - 1

    def fill(self, place: int, text: str, depth: int) -> None:
        """Write a statement into a reserved line."""
        self._lines[place] = _TAB * depth + text

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a block such as `if x:`."""
        self.line(header)
        self.depth += 1
        yield
        self.depth -= 1

    @contextmanager
    def region(self) -> Iterator[None]:
        """Collect the costs of statements that run together, and add them up before the first one."""
        self._regions.append((self.placeholder(), []))
        depth = self.depth
        yield
        place, costs = self._regions.pop()
        if self.counting and (total := sum(costs)):
            self.fill(place, f"meter.cost += {total}", depth)
        else:
            self.fill(place, "pass", depth)

    def charge(self, cost: int) -> None:
        """Add a cost to the statements of this region."""
        self._regions[-1][1].append(cost)

    def charge_result(self, code: str) -> None:
        """Add a cost that the evaluation computes."""
        if self.counting:
            self.line(f"meter.cost += {code}")

    def function(self, name: str, parameters: tuple[str, ...]) -> str:
        """Return the source of the function."""
        return "\n".join((f"def {name}({', '.join(('meter', 'memo', *parameters))}):", *filter(None, self._lines), ""))
