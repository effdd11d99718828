"""Words of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.texts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMED: Final = 3
"""Objects that a text names."""


def printable(text: str) -> str:
    """Return a text on one line that cannot control a terminal: U+FFFD replaces each unprintable character."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def placed(version: str, path: str, message: str) -> str:
    """Return a message with the version and the field that it is about, as far as there are any."""
    place = " ".join(filter(None, (version, path)))
    return f"{place}: {message}" if place else message


def named(count: int, message: str, examples: Sequence[str]) -> str:
    """Return a message with the number of objects that it is about, and the first of them."""
    more = ", ..." if count > min(len(examples), _NAMED) else ""
    return f"{counted(count, 'object')}: {message} ({', '.join(examples[:_NAMED])}{more})"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
