"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386) on decoded documents.

Mirrors apiserver pkg/endpoints/handlers/patch.go and what the reference's patch library accepts: negative indices, "replace" of a
missing member, "test" of an absent member against null. The given documents are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.golang import formatting, type_model
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import DecodeError, Decoder, Raw, Slice
from apiext.base.meta.limits import MAX_COPIED_BYTES, MAX_DEPTH, MAX_PATCH_OPERATIONS

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_STRICT_OPERATIONS: Final = Slice(struct("jsonPatchOp", "op, path, from, value any", Raw("any"), package="handlers"))

_TOO_DEEP: Final = f"the patched object is nested deeper than {MAX_DEPTH} levels"
_MAX_INT: Final = 2**63 - 1
_MAX_DIGITS: Final = 4000
"""Characters of an index beyond which Python does not read it."""

Operations = list[dict[str, Any] | None]


class PatchError(ValueError):
    """An operation that does not apply. The text is that of the reference's library."""


class PatchTestError(PatchError):
    """A test operation finds another value."""


class PatchDepthError(PatchError):
    """The result of a patch is nested too deeply."""


# --- JSON patch -------------------------------------------------------------------------------------------------------


def parse_json_patch(document: Any, *, strict: bool = True) -> tuple[Operations, list[str]]:
    """Return the operations of a JSON patch and, with `strict`, the errors of strict decoding.

    Raises:
        StatusError: 400 if the patch is no list of operations, 413 if it has more than MAX_PATCH_OPERATIONS.
    """
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
    if len(document) > MAX_PATCH_OPERATIONS:
        raise errors.too_large(f"The allowed maximum operations in a JSON patch is {MAX_PATCH_OPERATIONS}, got {len(document)}")
    return document, warnings


def _not_a_patch(value: Any, type_name: str) -> errors.StatusError:
    return errors.bad_request(f"json: cannot unmarshal {type_model.describe(value)} into Go value of type {type_name}")


def too_deep() -> errors.StatusError:
    """Return the error (400) about a patch whose result is nested too deeply."""
    return errors.bad_request(_TOO_DEEP)


def json_patch(document: Any, operations: Operations) -> Any:
    """Return the document with the operations applied in order.

    Raises:
        StatusError: 422 if an operation does not apply, as in the reference without saying which; 400 if the result is nested
            deeper than MAX_DEPTH and deeper than the document was.
    """
    try:
        return apply_operations(document, operations)
    except PatchDepthError as error:
        raise too_deep() from error
    except PatchError as error:
        raise errors.StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {}) from error


def apply_operations(document: Any, operations: Operations) -> Any:
    """Return the document with the operations of a JSON patch applied in order.

    Raises:
        PatchError: an operation does not apply, or the result is nested deeper than MAX_DEPTH and deeper than the document was.
    """
    patched = _Document(json_values.copy(document))
    for operation in operations:
        _apply(patched, operation or {})
    if json_values.is_deeper(patched.root, MAX_DEPTH) and json_values.depth(patched.root) > json_values.depth(document):
        raise PatchDepthError(_TOO_DEEP)
    return patched.root


class _Document:
    """The patched document and the number of bytes copied inside it."""

    __slots__ = ("copied", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied = 0

    def find(self, pointer: str, problem: str) -> tuple[Any, str]:
        """Return the object or list that contains a pointer's target, and the target's key in it. Raise PatchError without one."""
        parts = pointer.split("/")
        at = self.root if len(parts) > 1 else None
        try:
            for part in parts[1:-1]:
                at = _get(at, _unescape(part))
                if not isinstance(at, dict | list):
                    raise PatchError(problem)
        except PatchError as error:
            raise _missing(problem) from error
        if at is None:
            raise _missing(problem)
        return at, _unescape(parts[-1])

    def copy(self, value: Any) -> Any:
        """Return a copy of a value."""
        value = json_values.copy(value)
        if value is not None:
            self.copied += len(json_codec.dumps(value))
        if self.copied > MAX_COPIED_BYTES:
            size = f"the accumulated size increase of copy is {self.copied}, exceeding the limit {MAX_COPIED_BYTES}"
            raise PatchError(f"Unable to complete the copy, {size}")
        return value


def _missing(problem: str) -> PatchError:
    return PatchError(f"{problem}: missing value")


def _unescape(part: str) -> str:
    # In one pass: "~01" is "~1".
    return re.sub("~[01]", lambda match: "/" if match.group() == "~1" else "~", part) if "~" in part else part


def _index(key: str) -> int:
    """Return an index as Go's Atoi reads it."""
    if _INTEGER.fullmatch(key) is None:
        raise PatchError(f"strconv.Atoi: parsing {formatting.quote(key)}: invalid syntax")
    if not -_MAX_INT - 1 <= (index := int(key[:_MAX_DIGITS])) <= _MAX_INT or len(key) > _MAX_DIGITS:
        raise PatchError(f"strconv.Atoi: parsing {formatting.quote(key)}: value out of range")
    return index


def _position(items: list[Any], key: str, more: int = 0) -> int:
    """Return the position of an index in a list, or of a new item with `more`."""
    index, length = _index(key), len(items) + more
    if not -length <= index < length:
        raise PatchError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _get(at: Any, key: str) -> Any:
    """Return a member, None if an object has no such member."""
    return at[_position(at, key)] if type(at) is list else at.get(key)


def _add(at: Any, key: str, value: Any) -> None:
    if type(at) is not list:
        at[key] = value
    elif key == "-":
        at.append(value)
    else:
        try:
            _index(key)
        except PatchError as error:
            raise PatchError(f"value was not a proper array index: '{key}': {error}") from error
        at.insert(_position(at, key, 1), value)


def _remove(at: Any, key: str) -> None:
    if type(at) is list:
        del at[_position(at, key)]
    elif key in at:
        del at[key]
    else:
        raise _missing(f"Unable to remove nonexistent key: {key}")


def _path(operation: dict[str, Any]) -> str:
    return _text(operation, "path", "operation missing path field")


def _text(operation: dict[str, Any], name: str, problem: str) -> str:
    value = operation.get(name)
    if value is None:
        raise _missing(problem)
    if not isinstance(value, str):
        raise PatchError(f"json: cannot unmarshal {type_model.describe(value)} into Go value of type string")
    return value


@contextmanager
def _explained(problem: str) -> Iterator[None]:
    """Put a text before those of errors."""
    try:
        yield
    except PatchError as error:
        raise PatchError(f"{problem}: {error}") from error


def _found(document: _Document, operation: dict[str, Any], name: str) -> tuple[str, Any, str]:
    """Return the path of an addition or removal, its container and its last part."""
    try:
        path = _path(operation)
    except PatchError as error:
        raise _missing(f"{name} operation failed to decode path") from error
    at, key = document.find(path, f'{name} operation does not apply: doc is missing path: "{path}"')
    return path, at, key


def _apply_add(document: _Document, operation: dict[str, Any]) -> None:
    path, at, key = _found(document, operation, "add")
    with _explained(f"error in add for path: '{path}'"):
        _add(at, key, json_values.copy(operation.get("value")))


def _apply_remove(document: _Document, operation: dict[str, Any]) -> None:
    path, at, key = _found(document, operation, "remove")
    with _explained(f"error in remove for path: '{path}'"):
        _remove(at, key)


def _apply_replace(document: _Document, operation: dict[str, Any]) -> None:
    with _explained("replace operation failed to decode path"):
        path = _path(operation)
    value = json_values.copy(operation.get("value"))
    if not path:
        if not isinstance(value, dict | list):
            raise PatchError("replace operation value must be object or array: %!w(<nil>)")
        document.root = value
        return
    at, key = document.find(path, f"replace operation does not apply: doc is missing path: {path}")
    try:
        at[_position(at, key) if type(at) is list else key] = value
    except PatchError as error:
        raise _missing(f"replace operation does not apply: doc is missing key: {path}") from error


def _apply_move(document: _Document, operation: dict[str, Any]) -> None:
    with _explained("move operation failed to decode from"):
        source = _text(operation, "from", "operation, missing from field")
    at, key = document.find(source, f"move operation does not apply: doc is missing from path: {source}")
    with _explained(f"error in move for path: '{key}'"):
        value = _get(at, key)
        _remove(at, key)
    with _explained("move operation failed to decode path"):
        path = _path(operation)
    at, key = document.find(path, f"move operation does not apply: doc is missing destination path: {path}")
    with _explained(f"error in move for path: '{path}'"):
        _add(at, key, value)


def _apply_copy(document: _Document, operation: dict[str, Any]) -> None:
    with _explained("copy operation failed to decode from"):
        source = _text(operation, "from", "operation, missing from field")
    at, key = document.find(source, f"copy operation does not apply: doc is missing from path: {source}")
    with _explained(f"error in copy for from: '{source}'"):
        value = _get(at, key)
    try:
        path = _path(operation)
    except PatchError as error:
        raise _missing("copy operation failed to decode path") from error
    at, key = document.find(path, f"copy operation does not apply: doc is missing destination path: {path}")
    value = document.copy(value)
    with _explained("error while adding value during copy"):
        _add(at, key, value)


def _apply_test(document: _Document, operation: dict[str, Any]) -> None:
    with _explained("test operation failed to decode path"):
        path = _path(operation)
    found = document.root
    if path:
        at, key = document.find(path, f"test operation does not apply: is missing path: {path}")
        with _explained(f"error in test for path: '{path}'"):
            found = _get(at, key)
    if not json_values.equal(found, operation.get("value")):
        raise PatchTestError(f"testing value {path} failed: test failed")


_OPERATIONS: Final = {
    "add": _apply_add,
    "remove": _apply_remove,
    "replace": _apply_replace,
    "move": _apply_move,
    "copy": _apply_copy,
    "test": _apply_test,
}


def _apply(document: _Document, operation: dict[str, Any]) -> None:
    kind = operation.get("op")
    apply = _OPERATIONS.get(kind) if isinstance(kind, str) else None
    if apply is None:
        raise PatchError(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
    apply(document, operation)


# --- JSON merge patch -------------------------------------------------------------------------------------------------


def parse_merge_patch(document: Any, *, strict: bool = True) -> Any:
    """Return a merge patch, usually an object.

    Raises:
        StatusError: 400 for a value that no merge patch can be.
    """
    if isinstance(document, dict):
        return document
    if strict and document is not None:
        raise errors.bad_request(f"error decoding patch: {_no_object(document)}")
    if not isinstance(document, list):
        raise errors.bad_request("Invalid JSON Patch")
    return document


def parse_strategic_patch(document: Any) -> Any:
    """Return a strategic merge patch: an object, empty for null.

    Raises:
        StatusError: 400 if the document is no object.
    """
    if document is not None and not isinstance(document, dict):
        raise errors.bad_request(_no_object(document))
    return document or {}


def _no_object(document: Any) -> str:
    return f"json: cannot unmarshal {type_model.describe(document)} into Go value of type map[string]interface {{}}"


def merge_patch(document: Any, patch: Any) -> Any:
    """Return the document with the patch merged in: null removes a member, objects merge, other values replace.

    The result shares unchanged parts with the document, so that a small patch of a large object is cheap.
    """
    if type(document) is not dict:
        return _without_nulls(patch)
    if type(patch) is not dict:
        return json_values.copy(patch)
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
                merged[key] = json_values.copy(member)
    return top[0]


def _without_nulls(value: Any) -> Any:
    """Return a copy whose objects have no null members; lists keep their nulls."""
    if type(value) is dict:
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    return [_without_nulls(item) for item in value] if type(value) is list else value
