"""Reads a command's flags. Collects all problems and reports them together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from apiext.base.meta.time import parse_duration

TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class OptionsError(Exception):
    """Invalid flags; `problems` has one line for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class FlagReader:
    """Reads flags by name (underscores for dashes). None means that the flag was not given. Collects problems in `problems`."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self._flags = flags
        self.problems: list[str] = []

    def value(self, name: str) -> Any:
        """Return the value from the command line, None if there is none."""
        return self._flags.get(name)

    def add_problem(self, name: str, why: str) -> None:
        """Record a problem of a flag, once."""
        problem = f"--{name.replace('_', '-')}: {why}"
        if problem not in self.problems:
            self.problems.append(problem)

    def text(self, name: str, default: str = "") -> str:
        """Return a string."""
        value = self.value(name)
        return default if value is None else str(value)

    def names(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the comma-separated values of all occurrences of the flag."""
        value = self.value(name)
        if not value:
            return default
        return tuple(part for text in value for part in map(str.strip, text.split(",")) if part)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a boolean."""
        text = self.text(name)
        if not text:
            return default
        if text not in TRUE | FALSE:
            self.add_problem(name, f"{text!r} is neither true nor false")
        return text in TRUE

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
        """Return a whole number; record a problem if it is out of bounds."""
        text = self.text(name, str(default)).removeprefix("=")
        try:
            value = int(text)
        except ValueError:
            self.add_problem(name, f"{text!r} is not a whole number")
            return default
        if not least <= value <= most:
            self.add_problem(name, f"{value} is not between {least} and {most}")
        return value

    def fraction(self, name: str, default: float, *, most: float) -> float:
        """Return a number from 0 on; record a problem if it is out of bounds."""
        text = self.text(name)
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            self.add_problem(name, f"{text!r} is not a number")
            return default
        if not 0 <= value <= most:
            self.add_problem(name, f"{text} is not between 0 and {most:g}")
        return value

    def seconds(self, name: str, default: float, *, least: float = 0.0) -> float:
        """Return a duration in seconds; record a problem if it is malformed or too short."""
        text = self.text(name)
        if not text:
            return default
        try:
            value = parse_duration(text)
        except ValueError:
            self.add_problem(name, f"{text!r} is not a duration such as 30s or 1m30s")
            return default
        if value < least:
            self.add_problem(name, f"{text} is less than {least:g} s")
        return value

    def path(self, name: str) -> Path | None:
        """Return an absolute path, which need not exist; None if the flag was not given."""
        text = self.text(name)
        return Path(text).expanduser().absolute() if text else None

    def file(self, name: str) -> Path | None:
        """Return the absolute path of a file; None if the flag was not given. Record a problem if the file is not readable."""
        path = self.path(name)
        if path is not None:
            self.can_read(name, path)
        return path

    def can_read(self, name: str, path: Path) -> bool:
        """Return whether a file is readable; record a problem if it is not."""
        try:
            path.open("rb").close()
        except OSError as error:
            self.add_problem(name, f"{path}: {error.strerror}")
            return False
        return True

    def require_both(self, one: str, other: str) -> None:
        """Record a problem if one of two flags is given without the other."""
        if bool(self.value(one)) != bool(self.value(other)):
            given, missing = (one, other) if self.value(one) else (other, one)
            self.add_problem(given, f"needs --{missing.replace('_', '-')} too")
