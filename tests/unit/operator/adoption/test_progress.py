"""Reports of a copy's progress."""

import io

import pytest

from apiext.operator.adoption.transition import Progress


async def test_reports_sums_of_all_parts() -> None:
    """Report the sums of all parts at the end, and nothing if no part has started."""
    said: list[str] = []

    async def report(message: str) -> None:
        said.append(message)

    async with Progress(report, "example.com: copied {done} of {total}", "copied {done} of {total}") as progress:
        progress.of("a")(2, 3)
        progress.of("b")(1, 1)
        progress.of("a")(3, 3)

    async with Progress(report, "", "nothing"):
        pass
    assert said[-1] == "copied 4 of 4"


async def test_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show a bar on a terminal, and erase it at the end."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    async def report(_message: str) -> None:
        """Ignore the report."""

    async with Progress(report, "example.com: copied {done} of {total}", "copied {done} of {total}") as progress:
        progress.of("a")(2, 3)

    assert "example.com: copied" in terminal.getvalue()
