"""Log output on standard error, rendered by structlog, which is imported for the first line."""

from __future__ import annotations

import functools
import logging
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from structlog.stdlib import ProcessorFormatter
    from structlog.typing import EventDict, WrappedLogger

_DEBUG_VERBOSITY: Final = 4
"""`-v` from which debug lines are logged."""
_INFO_VERBOSITY: Final = 2
"""`-v` from which info lines are logged."""


def configure_logging(verbosity: int) -> None:
    """Log warnings, from a verbosity of 2 also info lines, and from 4 also debug lines."""
    level = logging.WARNING
    if verbosity >= _INFO_VERBOSITY:
        level = logging.INFO
    if verbosity >= _DEBUG_VERBOSITY:
        level = logging.DEBUG
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LazyFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("apiext").setLevel(level)
    # aiohttp prints a traceback for malformed requests
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    # kopf warns that it installs no signal handlers; apiext installs its own
    logging.getLogger("kopf").setLevel(logging.ERROR)


class _LazyFormatter(logging.Formatter):
    """Formats with structlog, whose import takes a quarter of a second."""

    def format(self, record: logging.LogRecord) -> str:
        return self._formatter.format(record)

    @functools.cached_property
    def _formatter(self) -> ProcessorFormatter:
        import structlog

        return structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _take_fields,
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "logger", "event"])
                if not sys.stderr.isatty()
                else structlog.dev.ConsoleRenderer(),
            ],
        )


def _take_fields(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Add the fields that a log call passed in `extra`."""
    fields = getattr(event["_record"], "fields", None)
    return event | fields if fields else event
