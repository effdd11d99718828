"""Members of JSON documents, from values."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object


def members_of(value: Any, *, without: str = "") -> Object:
    """Return the fields of a dataclass in their order: `cost_share` is the member costShare, and `is_exact` the member exact.

    `without` names fields that are left out.
    """
    return {_name(one.name): plain(getattr(value, one.name)) for one in fields(value) if one.name not in without.split()}


def plain(value: Any) -> Any:
    """Return a value with objects for dataclasses and lists for tuples."""
    if is_dataclass(value):
        return members_of(value)
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def _name(field: str) -> str:
    first, *others = field.removeprefix("is_").split("_")
    return first + "".join(map(str.capitalize, others))
