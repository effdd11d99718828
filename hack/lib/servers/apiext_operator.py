"""Runs `apiext operate` as a child process."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hack.lib.servers.process import Process, Service, environment

QUICK_ELECTION: Final = ("--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=200ms")
"""Flags for a leader election that ends in seconds, but survives a pause of a loaded machine."""
_READY: Final = b"apiext operates"


class ApiextOperator(Service):
    """One `apiext operate` with its log in a folder. It is ready when its first line is in the log."""

    patience = 60.0

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        self.process = Process([sys.executable, "-m", "apiext", "operate", *arguments], folder / "operator.log", environment())
        self._before = 0

    @property
    def log(self) -> str:
        """Return the log."""
        return self.process.log.read_text(errors="replace")

    def start(self) -> "ApiextOperator":
        """Start the operator and return when it is ready."""
        self._before = self.process.log.stat().st_size if self.process.log.exists() else 0
        return super().start()

    def ready(self) -> bool:
        """Report whether the first line was printed since the last start."""
        return _READY in self.process.log.read_bytes()[self._before :]
