"""Limits the work of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from apiext.base.meta.limits import MAX_PATH_VALUES, MAX_ROW_CHARACTERS

Values = list[Any]


class EvalError(ValueError):
    """A value that does not fit the path, or too many values."""


class Meter:
    """Counts the steps and values of a row's evaluation, and the text of its cells. Repeated unions and descents multiply the values."""

    __slots__ = ("_characters", "_values")

    def __init__(self) -> None:
        self._values = MAX_PATH_VALUES
        self._characters = MAX_ROW_CHARACTERS

    def take(self, values: Iterable[Any]) -> Values:
        """Return values as a list.

        Raises:
            EvalError: the row has taken more than MAX_PATH_VALUES steps and values, or MAX_ROW_CHARACTERS.
        """
        taken = values if type(values) is list else list(islice(values, max(self._values, 0)))
        self._values -= len(taken) + 1
        if self._values < 0 or self._characters < 0:
            raise EvalError("the values of the row are too many or too long")
        return taken

    def show(self, text: str) -> str:
        """Return the text of a cell, and count its characters."""
        self._characters -= len(text)
        return text
