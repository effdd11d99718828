"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386) on decoded documents.

Mirrors apiserver pkg/endpoints/handlers/patch.go and what the reference's patch library accepts: negative indices, "replace" of a
missing member, "test" of an absent member against null. The given documents are never changed.
"""

from __future__ import annotations

import re
from typing import Any, Final

from apiext.meta import errors
from apiext.meta.encoding import json_codec, json_values
from apiext.meta.golang import type_model
from apiext.meta.golang.struct_table import struct
from apiext.meta.golang.type_model import DecodeError, Decoder, Raw, Slice
from apiext.meta.limits import MAX_COPIED_BYTES, MAX_DEPTH, MAX_PATCH_OPERATIONS

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_STRICT_OPERATIONS: Final = Slice(struct("jsonPatchOp", "op, path, from, value any", Raw("any"), package="handlers"))

Operations = list[dict[str, Any] | None]


class _RefusedError(Exception):
    """An operation that does not apply."""


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
    return errors.bad_request(f"the patched object is nested deeper than {MAX_DEPTH} levels")


def json_patch(document: Any, operations: Operations) -> Any:
    """Return the document with the operations applied in order.

    Raises:
        StatusError: 422 if an operation does not apply, as in the reference without saying which; 400 if the result is nested
            deeper than MAX_DEPTH and deeper than the document was.
    """
    try:
        patched = _Document(json_values.copy(document))
        for operation in operations:
            if operation is None:
                raise _RefusedError
            _apply(patched, operation)
    except _RefusedError as error:
        raise errors.StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {}) from error
    if json_values.is_deeper(patched.root, MAX_DEPTH) and json_values.depth(patched.root) > json_values.depth(document):
        raise too_deep()
    return patched.root


class _Document:
    """The patched document and the number of bytes copied inside it."""

    __slots__ = ("copied", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied = 0

    def find(self, pointer: str) -> tuple[Any, str]:
        """Return the object or list that contains a pointer's target, and the target's key in it."""
        parts = pointer.split("/")
        if len(parts) < 2:
            raise _RefusedError
        at = self.root
        for part in parts[1:-1]:
            at = _get(at, _unescape(part))
            if not isinstance(at, dict | list):
                raise _RefusedError
        return at, _unescape(parts[-1])

    def get(self, pointer: str) -> Any:
        """Return the target of a pointer."""
        return _get(*self.find(pointer)) if pointer else self.root

    def replace(self, pointer: str, value: Any) -> None:
        """Replace the target of a pointer, or add a missing member."""
        if not pointer:
            if not isinstance(value, dict | list):
                raise _RefusedError
            self.root = value
            return
        at, key = self.find(pointer)
        at[_position(at, key) if type(at) is list else key] = value

    def copy(self, pointer: str) -> Any:
        """Return a copy of the target of a pointer."""
        value = json_values.copy(_get(*self.find(pointer)))
        if value is not None:
            self.copied += len(json_codec.dumps(value))
        if self.copied > MAX_COPIED_BYTES:
            raise _RefusedError
        return value


def _unescape(part: str) -> str:
    # In one pass: "~01" is "~1".
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
    """Return a member, None if an object has no such member."""
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


def _apply(document: _Document, operation: dict[str, Any]) -> None:
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            _add(*document.find(path), json_values.copy(operation.get("value")))
        case "remove":
            _remove(*document.find(path))
        case "replace":
            document.replace(path, json_values.copy(operation.get("value")))
        case "move":
            at, key = document.find(_pointer(operation, "from"))
            value = _get(at, key)
            _remove(at, key)
            _add(*document.find(path), value)
        case "copy":
            _add(*document.find(path), document.copy(_pointer(operation, "from")))
        case "test":
            if not json_values.equal(document.get(path), operation.get("value")):
                raise _RefusedError
        case _:
            raise _RefusedError


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
