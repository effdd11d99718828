"""managedFields as clients send them: kept if valid, otherwise as before.

Mirrors the treatment of an object's entries in apimachinery pkg/util/managedfields (fieldmanager.go, managedfields.go) and of their
field sets in structured-merge-diff (fieldpath/serialize.go). The fields of the write itself are not recorded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import json_codec

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object

_APPLY: Final = "Apply"
_FIELDS_V1: Final = "FieldsV1"
_INDEX: Final = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII)
_FIRST_BEYOND_INT64: Final = 2**63
_NEVER: Final = "1970-01-01T00:00:00Z"
_ITSELF: Final = "."


def carry_managers(metadata: Object, before: Object, *, subresource: str = "") -> None:
    """Set metadata.managedFields of a write, in place; `before` is the metadata of the existing object.

    Missing and invalid entries stay as before, as do all entries in a write to a subresource. One empty entry resets them.
    """
    sent, had = metadata.get("managedFields"), before.get("managedFields")
    if sent == had:
        return
    entries = had if subresource or not sent else [] if sent == [{}] else _read(sent, had)
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


def _read(sent: list[Object], had: list[Object] | None) -> list[Object] | None:
    """Return the entries in the form and order in which they are stored; those from before if one is invalid."""
    read: dict[tuple[str, ...], Object] = {}
    for entry in sent:
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in (_APPLY, "Update") or not version or entry.get("fieldsType") != _FIELDS_V1:
            return had
        try:
            fields, _ = _fields(entry.get("fieldsV1") or {})
        except (ValueError, RecursionError):
            return had
        who = (entry.get("manager", ""), operation, entry.get("subresource", ""), "" if operation == _APPLY else version)
        read[who] = entry | {"fieldsV1": fields}
    return sorted((entry for entry in read.values() if entry["fieldsV1"]), key=_rank)


def _rank(entry: Object) -> tuple[str, ...]:
    return entry["operation"], entry.get("time", _NEVER), entry.get("manager", ""), entry["apiVersion"], entry.get("subresource", "")


def _fields(fields: Any) -> tuple[Object, bool]:
    """Return the shortest form of a field set, and whether its own path belongs to it.

    Raises:
        ValueError: the set is invalid.
    """
    if not isinstance(fields, dict):
        raise ValueError("a field set must be an object")  # noqa: TRY004
    found: Object = {}
    for key, value in fields.items():
        name = None if key == _ITSELF else _element(key)
        if name is not None:
            below, belongs = _fields(value if value is not None else {})
            found[name] = {_ITSELF: {}} | below if below and belongs else below
    return found, _ITSELF in fields or not found


def _element(key: str) -> str | None:
    """Return a path element, None for one of an unknown kind.

    Raises:
        ValueError: the element is invalid.
    """
    kind, colon, rest = key[:1], key[1:2], key[2:]
    if colon != ":":
        raise ValueError(key)
    if kind == "k":
        value = json_codec.loads(rest.encode())
        if not isinstance(value, dict):
            raise ValueError(key)
        return f"k:{json_codec.dumps(value).decode()}"
    if kind == "v":
        return f"v:{json_codec.dumps(json_codec.loads(rest.encode())).decode()}"
    if kind == "i":
        return f"i:{_index(rest)}"
    return key if kind == "f" else None


def _index(text: str) -> int:
    """Parse a 64-bit integer.

    Raises:
        ValueError: the text is not one.
    """
    found = _INDEX.fullmatch(text)
    index = int(found[1] + found[2]) if found else _FIRST_BEYOND_INT64
    if not -_FIRST_BEYOND_INT64 <= index < _FIRST_BEYOND_INT64:
        raise ValueError(text)
    return index
