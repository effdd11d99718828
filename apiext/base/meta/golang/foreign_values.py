"""Values of Go programs that are no JSON: nothing but a schema's text about them is ever shown."""

from __future__ import annotations

from typing import Any


class NullNumber(int):
    """A null of an expression, for Go the number 0 of an enumeration in which it is named NULL_VALUE."""


class OpaqueMap(dict[str, Any]):
    """A map of an expression's values, for Go no map of JSON."""


class OpaqueList(list[Any]):
    """A list of an expression's values, for Go no list of JSON."""
