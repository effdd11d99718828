"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386) on decoded documents.

Mirrors apiserver pkg/endpoints/handlers/patch.go and what the reference's patch library accepts: negative indices, "replace" of a
member that is not there, "test" of an absent member against null. Documents given are never changed and share nothing with the results.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import deep, errors, go_types, json_codec, json_literals
from apiext.meta.go_types import DecodeError, Decoder, Field, Raw, Slice, String, Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_OPERATIONS: Final = 10_000
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
"""What the "copy" operations of one patch may add to a document."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_STRICT_OPERATIONS: Final = Slice(
    Struct("jsonPatchOp", "handlers").define(
        Field("op", String()), Field("path", String()), Field("from", String()), Field("value", Raw("interface {}"))
    )
)

Operations = list[dict[str, Any] | None]


class _RefusedError(Exception):
    """An operation does not apply."""


def deep_copy(value: Any) -> Any:
    """A JSON value that shares no object or list with the one given."""
    try:
        return _copied(value)
    except RecursionError:
        return deep.copied(value)


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(member) if type(member) in _NESTED else member for key, member in value.items()}
    if type(value) is list:
        return [_copied(item) if type(item) in _NESTED else item for item in value]
    return value


_NESTED: Final = frozenset({dict, list})


# --- JSON patch -------------------------------------------------------------------------------------------------------


def parse_json_patch(data: bytes, *, strict: bool = True) -> tuple[Operations, list[str]]:
    """The operations of a JSON patch; with `strict`, also what strict decoding finds wrong with them.

    Raises:
        StatusError: 400 for what is no list of operations, 413 for too many of them.
    """
    document = _loads(data)
    warnings: list[str] = []
    if strict:
        try:
            warnings = Decoder(report=True).run(_STRICT_OPERATIONS, document)
        except DecodeError as error:
            raise errors.bad_request(f"error decoding patch: {error}") from error
    if document is None:
        return [], warnings
    if not isinstance(document, list):
        raise _not_a_patch(document, "jsonpatch.Patch")
    for operation in document:
        if operation is not None and not isinstance(operation, dict):
            raise _not_a_patch(operation, "jsonpatch.Operation")
    if len(document) > MAX_OPERATIONS:
        raise errors.too_large(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(document)}")
    return document, warnings


def spelled_tests(operations: Operations, data: bytes) -> list[Any]:
    """How the values of the tests that a JSON patch begins with are spelled, for `json_patch`; nothing where that is beyond doubt."""
    if not json_literals.may_be_odd(data):
        return []
    count = next((index for index, operation in enumerate(operations) if not operation or operation.get("op") != "test"), len(operations))
    return [operation.get("value", "null") for operation in json_literals.spelled(data)[:count]] if count else []


def _loads(data: bytes) -> Any:
    try:
        return json_codec.loads(data)
    except (ValueError, RecursionError) as error:
        raise errors.bad_request("invalid JSON patch") from error


def _not_a_patch(value: Any, type_name: str) -> errors.StatusError:
    return errors.bad_request(f"json: cannot unmarshal {go_types.describe(value)} into Go value of type {type_name}")


def rejected() -> errors.StatusError:
    """What is said of a patch that does not apply."""
    return errors.StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def json_patch(document: Any, operations: Operations, spelled: Sequence[Any] = ()) -> Any:
    """The document with the operations applied in order; `spelled` (of `spelled_tests`) is how tested values have to be written in JSON.

    Raises:
        StatusError: 422 when one of them does not apply; as in the reference it does not tell which.
    """
    patched = _Document(deep_copy(document))
    try:
        for index, operation in enumerate(operations):
            kind = operation.get("op") if operation else None
            apply = _OPERATIONS.get(kind) if isinstance(kind, str) else None
            if operation is None or apply is None:
                raise _RefusedError
            apply(patched, operation)
            if index < len(spelled) and not json_literals.is_spelled(_found(patched, operation["path"]), spelled[index]):
                raise _RefusedError
    except _RefusedError as error:
        raise rejected() from error
    return patched.root


class _Document:
    """What is being patched, and how much has been copied inside it."""

    __slots__ = ("copied", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied = 0

    def find(self, pointer: str) -> tuple[Any, str]:
        """The object or list that holds what a pointer names, and its key there."""
        parts = pointer.split("/")
        if len(parts) < 2:
            raise _RefusedError
        at = self.root
        for part in parts[1:-1]:
            at = _get(at, _unescape(part))
            if type(at) not in _NESTED:
                raise _RefusedError
        return at, _unescape(parts[-1])


def _unescape(part: str) -> str:
    # In one pass over the text: "~01" is "~1".
    return re.sub("~[01]", lambda match: "/" if match.group() == "~1" else "~", part) if "~" in part else part


def _index(key: str) -> int:
    if _INTEGER.fullmatch(key) is None or len(key) > 18:
        raise _RefusedError
    return int(key)


def _position(items: list[Any], key: str) -> int:
    index = _index(key)
    if not -len(items) <= index < len(items):
        raise _RefusedError
    return index


def _get(at: Any, key: str) -> Any:
    """A member, None if an object has none of the name."""
    return at[_position(at, key)] if type(at) is list else at.get(key)


def _add(at: Any, key: str, value: Any) -> None:
    if type(at) is not list:
        at[key] = value
    elif key == "-":
        at.append(value)
    else:
        index, longer = _index(key), len(at) + 1
        if not -longer <= index < longer:
            raise _RefusedError
        at.insert(index + longer if index < 0 else index, value)


def _remove(at: Any, key: str) -> None:
    if type(at) is list:
        del at[_position(at, key)]
    elif key in at:
        del at[key]
    else:
        raise _RefusedError


def _pointer(operation: dict[str, Any], name: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise _RefusedError
    return pointer


def _apply_add(document: _Document, operation: dict[str, Any]) -> None:
    at, key = document.find(_pointer(operation, "path"))
    _add(at, key, deep_copy(operation.get("value")))


def _apply_remove(document: _Document, operation: dict[str, Any]) -> None:
    _remove(*document.find(_pointer(operation, "path")))


def _apply_replace(document: _Document, operation: dict[str, Any]) -> None:
    pointer, value = _pointer(operation, "path"), deep_copy(operation.get("value"))
    if not pointer:
        if type(value) not in _NESTED:
            raise _RefusedError
        document.root = value
        return
    at, key = document.find(pointer)
    if type(at) is list:
        at[_position(at, key)] = value
    else:
        at[key] = value


def _apply_move(document: _Document, operation: dict[str, Any]) -> None:
    at, key = document.find(_pointer(operation, "from"))
    value = _get(at, key)
    _remove(at, key)
    _add(*document.find(_pointer(operation, "path")), value)


def _apply_copy(document: _Document, operation: dict[str, Any]) -> None:
    at, key = document.find(_pointer(operation, "from"))
    value = deep_copy(_get(at, key))
    if value is not None:
        document.copied += len(json_codec.dumps(value))
    if document.copied > MAX_COPIED_BYTES:
        raise _RefusedError
    _add(*document.find(_pointer(operation, "path")), value)


def _apply_test(document: _Document, operation: dict[str, Any]) -> None:
    if not same(_found(document, _pointer(operation, "path")), operation.get("value")):
        raise _RefusedError


def _found(document: _Document, pointer: str) -> Any:
    return document.root if not pointer else _get(*document.find(pointer))


_OPERATIONS: Final[dict[str, Callable[[_Document, dict[str, Any]], None]]] = {
    "add": _apply_add,
    "remove": _apply_remove,
    "replace": _apply_replace,
    "move": _apply_move,
    "copy": _apply_copy,
    "test": _apply_test,
}


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: true is not 1, and 1 is not 1.0, which is how they are written and stored."""
    return deep.equal(one, other)


# --- JSON merge patch -------------------------------------------------------------------------------------------------


def parse_merge_patch(data: bytes, *, strict: bool = True) -> Any:
    """A merge patch, usually an object.

    Raises:
        StatusError: 400 for what cannot be one.
    """
    document = _loads(data)
    if isinstance(document, dict):
        return document
    if strict and document is not None:
        raise errors.bad_request(f"error decoding patch: {_no_object(document)}")
    if not isinstance(document, list):
        raise errors.bad_request("Invalid JSON Patch")
    return document


def parse_strategic_patch(data: bytes) -> Any:
    """A strategic merge patch: an object, or null for one that changes nothing.

    Raises:
        StatusError: 400 for what cannot be one.
    """
    document = _loads(data)
    if document is not None and not isinstance(document, dict):
        raise errors.bad_request(_no_object(document))
    return document or {}


def _no_object(document: Any) -> str:
    return f"json: cannot unmarshal {go_types.describe(document)} into Go value of type map[string]interface {{}}"


def merge_patch(document: Any, patch: Any) -> Any:
    """The document with the patch merged in: null removes a member, objects merge, all else replaces.

    The result shares with the document what the patch does not reach, which makes a small patch of a large object cheap.
    """
    if type(document) is not dict:
        return _without_nulls(patch)
    if type(patch) is not dict:
        return deep_copy(patch)
    top = [document]
    pending: list[tuple[Any, Any, dict[str, Any]]] = [(top, 0, patch)]
    while pending:
        holder, at, changes = pending.pop()
        merged = holder[at] = holder[at].copy()
        for key, member in changes.items():
            if member is None:
                merged.pop(key, None)
            elif type(merged.get(key)) is not dict:
                merged[key] = _without_nulls(member)
            elif type(member) is dict:
                pending.append((merged, key, member))
            else:
                merged[key] = deep_copy(member)
    return top[0]


def _without_nulls(value: Any) -> Any:
    """A new value as a patch brings it; in lists, nulls stay."""
    if type(value) not in _NESTED:
        return value
    try:
        return _stripped(value)
    except RecursionError:
        return deep.without_nulls(value)


def _stripped(value: Any) -> Any:
    if type(value) is dict:
        return {key: _stripped(member) for key, member in value.items() if member is not None}
    return [_stripped(item) for item in value] if type(value) is list else value
