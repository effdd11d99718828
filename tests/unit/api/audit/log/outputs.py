"""Outputs of the audit log."""

import threading

from apiext.api.audit.log.output import PartialWriteError


class Output:
    """An output that may be blocked or broken."""

    def __init__(self, problem: str = "") -> None:
        self.data = b""
        self.max_line = 0
        self.is_quick = False
        self.writes = 0
        self.problem = problem
        self.taken: int | None = None
        """The bytes after which a write fails."""
        self.free = threading.Event()
        self.free.set()

    def write(self, data: bytes) -> None:
        """Keep the lines."""
        self.free.wait()
        self.writes += 1
        if self.problem:
            raise OSError(self.problem)
        if self.taken is not None:
            raise PartialWriteError(OSError("disk full"), self.taken)
        self.data += data

    def close(self) -> None:
        """Do nothing."""
