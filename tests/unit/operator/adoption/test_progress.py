"""What is told while something goes on."""

import io

import pytest

from apiext.operator.adoption.progress import Progress


async def test_told() -> None:
    """The sums of all parts are told at the end, and not where nothing has begun."""
    said: list[str] = []

    async def tell(message: str) -> None:
        said.append(message)

    async with Progress(tell, "example.com: copied {done} of {total}", "copied {done} of {total}") as progress:
        progress.of("a")(2, 3)
        progress.of("b")(1, 1)
        progress.of("a")(3, 3)

    async with Progress(tell, "", "nothing"):
        pass
    assert said[-1] == "copied 4 of 4"


async def test_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal there is a bar, which is gone at the end."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    async def tell(_message: str) -> None:
        """Nobody listens."""

    async with Progress(tell, "example.com: copied {done} of {total}", "copied {done} of {total}") as progress:
        progress.of("a")(2, 3)

    assert "example.com: copied" in terminal.getvalue()
