"""Parses the values of an enum rule, and derives the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.base.meta.encoding.json_values import identity
from apiext.base.meta.field import duplicate, forbidden, required

if TYPE_CHECKING:
    from collections.abc import Hashable

    from apiext.base.meta.field import FieldError, Path

Pairs = tuple[tuple[Any, Any], ...]
"""Values with those that replace them."""


def parse_enum(body: Any, at: Path, errors: list[FieldError]) -> tuple[Pairs, Pairs]:
    """Return the values of the spoke with those of the hub, and the other way round. Add errors to the list."""
    forth = _pairs(body, "map", "values", at, errors)
    extra = _pairs(body, "back", "backValues", at, errors)
    if not forth and not extra:
        errors.append(required(at.child("map"), "or `values`, `back` or `backValues`"))
    return forth, extra + _inverse(forth, extra, at, errors)


def _pairs(body: Any, texts: str, values: str, at: Path, errors: list[FieldError]) -> Pairs:
    if texts in body and values in body:
        errors.append(forbidden(at.child(values), f"beside `{texts}`"))
    if texts in body:
        return tuple(body[texts].items())
    seen: set[Hashable] = set()
    found = []
    for index, pair in enumerate(body.get(values) or ()):
        if identity(pair["from"]) in seen:
            errors.append(duplicate(at.child(values).index(index).child("from"), pair["from"]))
        seen.add(identity(pair["from"]))
        found.append((pair["from"], pair["to"]))
    return tuple(found)


def _inverse(forth: Pairs, extra: Pairs, at: Path, errors: list[FieldError]) -> Pairs:
    """Return the inverse of pairs, without the values that the author maps back."""
    said = {identity(value) for value, _ in extra}
    inverse: dict[Hashable, tuple[Any, Any]] = {}
    for source, target in forth:
        key = identity(target)
        if key in said:
            continue
        if key in inverse:
            errors.append(required(at.child("back"), f"several values become {target!r}: map it back to one of them"))
            continue
        inverse[key] = (target, source)
    return tuple(inverse.values())
