"""Words of reports."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a text on one line that cannot control a terminal: U+FFFD replaces each unprintable character."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
