"""The log: lines for people on standard error, made by structlog, which is loaded with the first line."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from structlog.stdlib import ProcessorFormatter
    from structlog.typing import EventDict, WrappedLogger

_DEBUG_FROM: Final = 4
_INFO_FROM: Final = 2


def configure_logging(verbosity: int) -> None:
    """Log warnings, and from a verbosity of 2 and 4 on more than that."""
    level = logging.WARNING
    if verbosity >= _INFO_FROM:
        level = logging.INFO
    if verbosity >= _DEBUG_FROM:
        level = logging.DEBUG
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LateFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("apiext").setLevel(level)
    # a client that speaks no HTTP is no fault of the server, and no reason to print a traceback
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    # it warns that signals are not its business, which is how it is meant
    logging.getLogger("kopf").setLevel(logging.ERROR)


class _LateFormatter(logging.Formatter):
    """Formats with structlog; loading it takes a quarter of a second that a quiet start need not spend."""

    def __init__(self) -> None:
        super().__init__()
        self._formatter: ProcessorFormatter | None = None

    def format(self, record: logging.LogRecord) -> str:
        if self._formatter is None:
            self._formatter = _formatter()
        return self._formatter.format(record)


def _formatter() -> ProcessorFormatter:
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
    """The fields that a log call passed in `extra`."""
    fields = getattr(event["_record"], "fields", None)
    return event | fields if fields else event
