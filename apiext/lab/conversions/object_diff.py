"""Objects and their differences as YAML."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTH = 120


def yaml_text(value: Any) -> str:
    """Return a value as YAML with sorted names."""
    text: str = yaml.safe_dump(value, allow_unicode=True, width=_WIDTH)
    return text


def object_diff(expected: Any, actual: Any) -> Iterator[str]:
    """Yield the lines of a unified diff of two objects."""
    lines = difflib.unified_diff(yaml_text(expected).splitlines(), yaml_text(actual).splitlines(), "expected", "actual", n=3, lineterm="")
    yield from lines
