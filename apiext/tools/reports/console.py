"""Reports as lines on a console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


class ConsoleReport:
    """Writes lines and lists. No text of them can control the terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def line(self, text: str, style: str = "", *, after: str = "", after_style: str = "") -> None:
        """Write a line, whose end may have another style."""
        self._console.print(Text.assemble((printable(text), style), (printable(after), after_style)))

    def list(self, title: str, lines: Sequence[str], style: str = "", *, most: int | None = None, indent: str = "") -> None:
        """Write a title and lines below it, of which the first ones if there are more than `most`; nothing without lines."""
        if not lines:
            return
        self.line(f"{indent}{title}", "bold")
        for text in lines[:most]:
            self.line(f"{indent}  - {text}", style)
        if most is not None and len(lines) > most:
            self.line(f"{indent}  ... and {len(lines) - most} more", "dim")
