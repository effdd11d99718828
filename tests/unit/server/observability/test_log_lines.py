"""Lines of the log."""

import logging
import subprocess
import sys
from typing import Any

import pytest

from apiext.base.meta.limits import MAX_LOG_LINE_BYTES
from apiext.server.observability.log_output import LineFormatter


def _line(event: str = "request failed", failure: Exception | None = None, **fields: object) -> str:
    record = logging.LogRecord("apiext.test", logging.ERROR, "file.py", 1, event, None, None)
    record.fields = fields
    try:
        if failure is not None:
            raise failure
    except ValueError:
        record.exc_info = sys.exc_info()
    return LineFormatter().format(record)


def test_writes_lines_without_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write plain lines while no file can be opened, and so no module imported; a file that is free again changes that."""
    with monkeypatch.context() as patched:
        # an import of it fails
        patched.setitem(sys.modules, "apiext.server.observability.log_lines", None)
        line = _line(failure=ValueError("a\nb"), path="/apis", text='a "b"')
        long = _line(text="x" * 3_000_000)

    head, _, rest = line.partition(" level=")
    assert head.startswith("timestamp=20")
    assert rest == ('error logger=apiext.test event="request failed" exception="ValueError(\'a\\\\nb\')" path=/apis text="a \\"b\\""')
    assert len(long.encode()) <= MAX_LOG_LINE_BYTES
    assert _line().endswith('event="request failed"')


def test_writes_fields() -> None:
    """Write time, level, logger and event before the fields."""
    line = _line(path="/apis", code=500, text="a b")

    assert line.endswith(' level=error logger=apiext.test event="request failed" path=/apis code=500 text="a b"')


@pytest.mark.parametrize("text", ["x" * 3_000_000, "\U0001f600" * 100_000, "\n" * 10_000, '\\"' * 10_000, "\ud800" * 5000])
def test_cuts_long_fields(text: str) -> None:
    """Cut a long field in its middle, say by how much, and keep the line whole."""
    line = _line(before=1, text=text, after="end of line")

    assert len(line.encode(errors="backslashreplace")) <= MAX_LOG_LINE_BYTES
    assert " characters cut]..." in line
    assert "\n" not in line
    assert line.endswith('after="end of line"')


def test_counts_what_it_cuts() -> None:
    """Write the number of characters that are missing."""
    begin, _, rest = _line(text="-" * 10_000).partition("...[")
    number, _, end = rest.partition(" characters cut]...")

    assert begin.rpartition("=")[2].count("-") + int(number) + end.count("-") == 10_000


def test_cuts_tracebacks() -> None:
    """Keep the begin and the end of a traceback with a long message."""
    line = _line(failure=ValueError(f"begin {'x' * 1_000_000} end"), path="/apis")

    assert len(line) <= MAX_LOG_LINE_BYTES
    assert 'exception="Traceback (most recent call last):' in line
    assert line.endswith(' end"')


def test_cuts_many_long_fields() -> None:
    """Keep a line with many long fields short, and each of them recognizable."""
    fields: dict[str, Any] = {f"field{number}": ["\U0001f600 " * 1000] for number in range(12)}
    line = _line("e" * 5000, **fields)

    assert len(line.encode()) <= MAX_LOG_LINE_BYTES
    assert line.count(" characters cut]...") == 13


def test_does_without_rich() -> None:
    """Load structlog without rich, and leave rich to other importers."""
    code = "import sys, apiext.server.observability.log_lines; before = 'rich.console' in sys.modules; import rich.console; print(before)"

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
