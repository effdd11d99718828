"""Where the embedded resources of a value are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiext.schema.model import Structural


def resources(value: Any, schema: Structural, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Each embedded resource with its path, before those inside it; whoever iterates may change what it was given."""
    if type(value) is dict:
        if schema.embedded:
            yield value, path
        if not schema.has_resources:
            return
        properties = schema.properties
        for key, member in value.items():
            if type(member) is not dict and type(member) is not list:
                continue
            child = properties.get(key)
            if child is not None:
                yield from resources(member, child, below(path, key))
            elif schema.additional is not None:
                yield from resources(member, schema.additional, f"{path}[{key}]")
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                yield from resources(item, schema.items, f"{path}[{index}]")


def below(path: str, name: str) -> str:
    """The path of a member."""
    return f"{path}.{name}" if path else name
