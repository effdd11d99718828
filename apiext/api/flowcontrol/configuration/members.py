"""Typed access to the members of configuration objects that another server sent; null counts as absent, as in Go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.steps import Steps

T = TypeVar("T")
_PIECE: Final = 500
"""Members of a list in one step, which takes some hundred microseconds."""


class InvalidFlowControlObjectError(Exception):
    """A FlowSchema or PriorityLevelConfiguration is unusable. The message is the reason."""


def text(obj: Object, key: str) -> str:
    """Return a string member, "" for an absent one.

    Raises:
        InvalidFlowControlObjectError: the value has another type.
    """
    value = obj.get(key)
    return "" if value is None else _checked(key, value, str)


def number(obj: Object, key: str, default: int) -> int:
    """Return an integer member, the default if it is absent.

    Raises:
        InvalidFlowControlObjectError: the value has another type.
    """
    value = obj.get(key)
    return default if value is None else _checked(key, value, int)


def child(obj: Object, key: str) -> Object | None:
    """Return an object member, None if it is absent.

    Raises:
        InvalidFlowControlObjectError: the value has another type.
    """
    value = obj.get(key)
    return None if value is None else _checked(key, value, dict)


def texts(obj: Object, key: str) -> Steps[list[str]]:
    """Return a member that is a list of strings, an empty list if it is absent, in steps.

    Raises:
        InvalidFlowControlObjectError: the value, or one of the list, has another type.
    """
    found: list[str] = yield from _list(obj, key, str)
    return found


def children(obj: Object, key: str) -> Steps[list[Object]]:
    """Return a member that is a list of objects, an empty list if it is absent, in steps.

    Raises:
        InvalidFlowControlObjectError: the value, or one of the list, has another type.
    """
    found: list[Object] = yield from _list(obj, key, dict)
    return found


def in_pieces(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the values in pieces; a step may end after each."""
    return (values[start : start + _PIECE] for start in range(0, len(values), _PIECE))


def _list(obj: Object, key: str, kind: type) -> Steps[list[Any]]:
    value = obj.get(key)
    found: list[Any] = [] if value is None else _checked(key, value, list)
    for piece in in_pieces(found):
        for item in piece:
            _checked(key, item, kind)
        yield
    return found


def _checked(key: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise InvalidFlowControlObjectError(f"{key} has the wrong type")
    return value
