"""Fields that stand twice in the values of a JSON patch, found again in what it makes.

The reference puts the values of a patch into the object as they were sent, and then reads the object strictly.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import go_format
from apiext.meta.patch import same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.patch import Operations

_IN_VALUE: Final = re.compile(r'duplicate field "\[(\d+)\]\.value([.\[].*)"')


class RepeatedFields:
    """Those of one patch."""

    __slots__ = ("_below", "_operations")

    def __init__(self, operations: Operations, messages: Sequence[str]) -> None:
        """`messages` tell where in the patch a field stands again."""
        self._operations = operations
        self._below = [(int(match[1]), match[2]) for message in messages if (match := _IN_VALUE.fullmatch(message))]

    def within(self, patched: Any) -> list[str]:
        """Messages about the same fields in what the patch has made, as far as their values came through unchanged."""
        found = []
        for index, below in self._below:
            operation = self._operations[index] or {}
            path = _path(patched, operation) if operation.get("op") in ("add", "replace") else None
            if path is not None:
                found.append(f"duplicate field {go_format.quote((path + below).removeprefix('.'))}")
        return found


def _path(patched: Any, operation: dict[str, Any]) -> str | None:
    """Where the value of an operation is, None where it is not any more."""
    at, path = patched, ""
    for part in str(operation.get("path")).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list):
            index = len(at) - 1 if key == "-" else int(key) % max(len(at), 1)
            if index >= len(at):
                return None
            at, path = at[index], f"{path}[{index}]"
        elif isinstance(at, dict) and key in at:
            at, path = at[key], f"{path}.{key}"
        else:
            return None
    return path if same(at, operation.get("value")) else None
