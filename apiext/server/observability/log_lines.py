"""Lines of the log: structlog renders records with their fields.

The import of structlog takes 50 ms; log_output.py and preparation.py defer it until after the start.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Final

from apiext.base.meta.limits import MAX_LOG_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from structlog.typing import EventDict, WrappedLogger

_SHORTEST_CUT: Final = 32
"""Characters kept of every field, so that time, level and event of a line are never cut."""

# prevent structlog from importing rich: 2 MiB of modules for tracebacks that are not used here
_HIDES_RICH: Final = "rich" not in sys.modules
if _HIDES_RICH:
    sys.modules["rich"] = None  # type: ignore[assignment]  # an import fails then
try:
    import structlog
finally:
    if _HIDES_RICH:
        del sys.modules["rich"]


def line_formatter(common: Mapping[str, object]) -> structlog.stdlib.ProcessorFormatter:
    """Return the formatter of records: logfmt, or columns in color on a terminal. All lines have the `common` fields."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            functools.partial(_take_fields, common),
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


def _take_fields(common: Mapping[str, object], _logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Add the common fields, and those that a log call passed in `extra`."""
    fields = getattr(event["_record"], "fields", None)
    if common:
        event.update(common)
    return event | fields if fields else event


def _render_bounded(render: Callable[[WrappedLogger, str, EventDict], str], logger: WrappedLogger, name: str, event: EventDict) -> str:
    """Render an event; cut its longest fields until the line is short enough."""
    line, longest = render(logger, name, dict(event)), MAX_LOG_LINE_BYTES
    while longest > _SHORTEST_CUT and len(line.encode(errors="backslashreplace")) > MAX_LOG_LINE_BYTES:
        longest //= 2
        line = render(logger, name, {key: _cut(value, longest) for key, value in event.items()})
    return line


def _cut(value: object, longest: int) -> object:
    """Return a value; for a text longer than `longest` characters, its begin and end only."""
    text, half = str(value), longest // 2
    return value if len(text) <= longest else f"{text[:half]}...[{len(text) - longest} characters cut]...{text[-half:]}"
