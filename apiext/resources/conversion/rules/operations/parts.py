"""Texts of the values that split and join put together."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Final

from apiext.resources.conversion.rules.operations.operation import MISSING

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_BOOLEANS: Final = {"true": True, "false": False}


class PartType(Enum):
    """The type of a field, as far as its text is concerned."""

    TEXT = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    INTEGER_OR_TEXT = "int-or-string"


def part_text(value: Any) -> str | None:
    """Return the text of a value, None if it has none."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    return str(value) if type(value) is int else None


def part_value(text: str, kind: PartType) -> Any:
    """Return the value of a type with a text, MISSING if there is none."""
    if kind is PartType.TEXT:
        return text
    if kind is PartType.BOOLEAN:
        return _BOOLEANS.get(text, MISSING)
    if _INTEGER.fullmatch(text):
        return int(text)
    return text if kind is PartType.INTEGER_OR_TEXT else MISSING
