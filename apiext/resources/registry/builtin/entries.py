"""Rules of the entries of ConfigMaps and Secrets (kubernetes pkg/apis/core/validation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

MAX_BYTES: Final = 1024 * 1024
"""Bytes of all values of an object."""
_LOCKED: Final = "field is immutable when `immutable` is set"


def key_errors(key: str, path: Path) -> list[FieldError]:
    """Return the errors of a key; `path` is that of its map."""
    return [field.invalid(path.key(key), key, message) for message in names.config_map_key(key)]


def immutable_errors(obj: Object, old: Object, members: Iterable[str]) -> list[FieldError]:
    """Return the errors about changes of an immutable object: it stays immutable, and so do the maps `members`."""
    if not old.get("immutable"):
        return []
    problems = [] if obj.get("immutable") else [field.forbidden(field.Path("immutable"), _LOCKED)]
    return problems + [field.forbidden(field.Path(name), _LOCKED) for name in members if obj.get(name) != old.get(name)]


def fill_empty(obj: Object, member: str) -> None:
    """Replace the nulls of a map of bytes by empty bytes."""
    if member in obj:
        obj[member] = {key: value or "" for key, value in obj[member].items()}
