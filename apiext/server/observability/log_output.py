"""Log output on standard error. The first line imports the renderer."""

from __future__ import annotations

import functools
import logging
import sys
import time
from typing import TYPE_CHECKING, Final

from apiext.base.meta.limits import MAX_LOG_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

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


class PlainFormatter(logging.Formatter):
    """Formats a record as logfmt without importing anything. All lines have the `common` fields."""

    def __init__(self, common: Mapping[str, object]) -> None:
        super().__init__()
        self._common = common

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with the exception in flight instead of its traceback."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        words = {"timestamp": f"{moment}.{int(record.msecs):03}Z", "level": record.levelname.lower(), "logger": record.name}
        words["event"] = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            words["exception"] = repr(record.exc_info[1])
        words |= {name: str(value) for name, value in {**self._common, **getattr(record, "fields", {})}.items()}
        line = " ".join(f"{name}={_quoted(text)}" for name, text in words.items())
        return line if len(line) <= MAX_LOG_LINE_BYTES else f"{line[: MAX_LOG_LINE_BYTES // 4]}..."


def _quoted(text: str) -> str:
    """Return a value as logfmt."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"' if " " in text or "=" in text or "\\" in text else text


class LineFormatter(logging.Formatter):
    """Formats a record as a line of at most MAX_LOG_LINE_BYTES (log_lines.py)."""

    def __init__(self, worker: int | None = None) -> None:
        """Create the formatter. Lines have the number of the worker process, if there are several."""
        super().__init__()
        self._common = {} if worker is None else {"worker": worker}
        self._plain = PlainFormatter(self._common)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; cut its longest fields if it is too long."""
        try:
            formatter = self._formatter
        except (OSError, ImportError):
            # without file descriptors nothing can be imported: the next line tries again
            formatter = self._plain
        return formatter.format(record)

    @functools.cached_property
    def _formatter(self) -> logging.Formatter:
        from apiext.server.observability.log_lines import line_formatter

        return line_formatter(self._common)
