"""Log output on standard error, rendered by structlog, which is imported for the first line."""

from __future__ import annotations

import functools
import logging
import sys
from typing import TYPE_CHECKING, Final

from apiext.meta.limits import MAX_LOG_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.stdlib import ProcessorFormatter
    from structlog.typing import EventDict, WrappedLogger

_DEBUG_VERBOSITY: Final = 4
"""`-v` from which debug lines are logged."""
_SHORTEST_CUT: Final = 32
"""Characters that stay of every field: the time, the level and the event of a line are whole."""
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
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("apiext").setLevel(level)
    # aiohttp prints a traceback for malformed requests
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    # kopf warns that it installs no signal handlers; apiext installs its own
    logging.getLogger("kopf").setLevel(logging.ERROR)


class LineFormatter(logging.Formatter):
    """Formats a record with structlog, whose import takes a quarter of a second, as a line of at most MAX_LOG_LINE_BYTES."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, whose longest fields are cut if need be."""
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
                functools.partial(
                    _render_bounded,
                    structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "logger", "event"])
                    if not sys.stderr.isatty()
                    else structlog.dev.ConsoleRenderer(),
                ),
            ],
        )


def _take_fields(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Add the fields that a log call passed in `extra`."""
    fields = getattr(event["_record"], "fields", None)
    return event | fields if fields else event


def _render_bounded(render: Callable[[WrappedLogger, str, EventDict], str], logger: WrappedLogger, name: str, event: EventDict) -> str:
    """Render an event; cut its longest fields until the line is short enough."""
    line, longest = render(logger, name, dict(event)), MAX_LOG_LINE_BYTES
    while longest > _SHORTEST_CUT and len(line.encode(errors="backslashreplace")) > MAX_LOG_LINE_BYTES:
        longest //= 2
        line = render(logger, name, {key: _cut(value, longest) for key, value in event.items()})
    return line


def _cut(value: object, longest: int) -> object:
    """Return a value, or the begin and the end of its text if that is longer than `longest` characters."""
    text, half = str(value), longest // 2
    return value if len(text) <= longest else f"{text[:half]}...[{len(text) - longest} characters cut]...{text[-half:]}"
