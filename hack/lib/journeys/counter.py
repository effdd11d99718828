"""Runs `apiext` and counts the calls of its functions between two signals.

`python -m hack.lib.journeys.counter REPORT serve ...`: SIGNAL starts a count in the main thread; the next one writes it to the file REPORT.
"""

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

PACKAGE: Final = f"{Path(__file__).resolve().parents[3] / 'apiext'}/"
SIGNAL: Final = signal.SIGRTMIN + 1
_WHOLE: Final = frozenset({"cli", "server", "schema", "storage"})
"""Floors that count as one room each."""


class Counter:
    """Counts calls, the modules they are in, and how often a call is in another room than the one before it."""

    def __init__(self) -> None:
        self.calls = 0
        self.changes = 0
        self.modules: set[str] = set()
        self.functions: set[object] = set()
        self._rooms: dict[str, str] = {}
        self._room = ""

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> None:
        """Count an event: the function of sys.setprofile."""
        if event != "call":
            return
        path = frame.f_code.co_filename
        room = self._rooms.get(path)
        if room is None:
            room = self._rooms[path] = _room(path)
        if not room:
            return
        self.calls += 1
        self.modules.add(path)
        self.functions.add(frame.f_code)
        if room != self._room:
            self.changes += 1
            self._room = room

    def counts(self) -> dict[str, int]:
        """Return the counts."""
        return {"calls": self.calls, "functions": len(self.functions), "modules": len(self.modules), "changes": self.changes}


def _room(path: str) -> str:
    """Return the room of a file, empty for files that are not apiext's."""
    if not path.startswith(PACKAGE):
        return ""
    floor, *rest = path.removeprefix(PACKAGE).split("/")
    return floor if floor in _WHOLE or len(rest) < 2 else f"{floor}/{rest[0]}"


def _main(report: Path) -> None:
    found: list[Counter] = []

    def toggle(_number: int, _frame: FrameType | None) -> None:
        if not found:
            found.append(Counter())
            sys.setprofile(found[0])
            return
        sys.setprofile(None)
        partial = report.with_suffix(".part")
        partial.write_text(json.dumps(found.pop().counts()))
        partial.rename(report)

    signal.signal(SIGNAL, toggle)
    from apiext.cli.main import main

    main()


if __name__ == "__main__":
    target = Path(sys.argv.pop(1))
    _main(target)
