"""Flags of a command: read one by one, and all that is wrong is told at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from apiext.meta.duration import parse_duration

TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class OptionsError(Exception):
    """Flags that cannot be used; `problems` holds one line for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class FlagReader:
    """Flags by name, with underscores for dashes; a flag that is None was not given. What is wrong with them is kept in `problems`."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self._flags = flags
        self.problems: list[str] = []

    def given(self, name: str) -> Any:
        """What was given, as the command line has it."""
        return self._flags.get(name)

    def wrong(self, name: str, why: str) -> None:
        """Keep what is wrong with a flag, once."""
        problem = f"--{name.replace('_', '-')}: {why}"
        if problem not in self.problems:
            self.problems.append(problem)

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self.given(name)
        return default if value is None else str(value)

    def names(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """What stands between commas, of all times that the flag was given."""
        value = self.given(name)
        if not value:
            return default
        return tuple(part for text in value for part in map(str.strip, text.split(",")) if part)

    def flag(self, name: str, *, default: bool) -> bool:
        """Whether it is true."""
        text = self.text(name)
        if not text:
            return default
        if text not in TRUE | FALSE:
            self.wrong(name, f"{text!r} is neither true nor false")
        return text in TRUE

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
        """A whole number in its bounds."""
        text = self.text(name, str(default)).removeprefix("=")
        try:
            value = int(text)
        except ValueError:
            self.wrong(name, f"{text!r} is not a whole number")
            return default
        if not least <= value <= most:
            self.wrong(name, f"{value} is not between {least} and {most}")
        return value

    def seconds(self, name: str, default: float, *, least: float = 0.0) -> float:
        """A duration, in seconds."""
        text = self.text(name)
        if not text:
            return default
        try:
            value = parse_duration(text)
        except ValueError:
            self.wrong(name, f"{text!r} is not a duration such as 30s or 1m30s")
            return default
        if value < least:
            self.wrong(name, f"{text} is less than {least:g} s")
        return value

    def path(self, name: str) -> Path | None:
        """A path from the root, whatever there is."""
        text = self.text(name)
        return Path(text).expanduser().absolute() if text else None

    def both_or_none(self, one: str, other: str) -> None:
        """Two flags that need one another."""
        if bool(self.given(one)) != bool(self.given(other)):
            given, missing = (one, other) if self.given(one) else (other, one)
            self.wrong(given, f"needs --{missing.replace('_', '-')} too")
