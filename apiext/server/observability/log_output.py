"""Log output on standard error. The first line imports the renderer."""

from __future__ import annotations

import functools
import logging
import sys
from typing import Final

_DEBUG_VERBOSITY: Final = 4
"""`-v` from which debug lines are logged."""
_INFO_VERBOSITY: Final = 2
"""`-v` from which info lines are logged."""


def configure_logging(verbosity: int, *, worker: int | None = None) -> None:
    """Log warnings, from a verbosity of 2 also info lines, and from 4 also debug lines. All lines name the `worker`."""
    level = logging.WARNING
    if verbosity >= _INFO_VERBOSITY:
        level = logging.INFO
    if verbosity >= _DEBUG_VERBOSITY:
        level = logging.DEBUG
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(worker))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("apiext").setLevel(level)
    # aiohttp prints a traceback for malformed requests
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    # kopf warns that it installs no signal handlers; apiext installs its own
    logging.getLogger("kopf").setLevel(logging.ERROR)


class LineFormatter(logging.Formatter):
    """Formats a record as a line of at most MAX_LOG_LINE_BYTES (log_lines.py)."""

    def __init__(self, worker: int | None = None) -> None:
        """Create the formatter. Lines have the number of the worker process, if there are several."""
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; cut its longest fields if it is too long."""
        return self._formatter.format(record)

    @functools.cached_property
    def _formatter(self) -> logging.Formatter:
        from apiext.server.observability.log_lines import line_formatter

        return line_formatter({} if self._worker is None else {"worker": self._worker})
