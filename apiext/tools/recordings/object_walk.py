"""Rewrites the values of an object by their places in the schema, and the same values in its managedFields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.limits import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object

Schema = dict[str, Any]
_NONE: Final[Schema] = {}
_Spot = TypeVar("_Spot")


class Rewriter(Protocol[_Spot]):
    """Decides about each value. A spot is the rewriter's knowledge about a place in the object."""

    def member(self, spot: _Spot, name: str, owner: Object) -> _Spot:
        """Return the spot of a member of an object."""
        ...

    def item(self, spot: _Spot) -> _Spot:
        """Return the spot of the items of a list."""
        ...

    def leaf(self, value: Any, spot: _Spot, schema: Schema) -> Any:
        """Return the new value for a text, a number or a boolean."""
        ...


def rewrite(value: Any, spot: _Spot, schema: Schema, rewriter: Rewriter[_Spot]) -> Any:
    """Return a value with new leaves. It shares nothing with the given one."""
    if type(value) is dict:
        new = {}
        for name, member in value.items():
            new[name] = rewrite(member, rewriter.member(spot, name, value), member_schema(schema, name), rewriter)
        return new
    if type(value) is list:
        below, items = rewriter.item(spot), item_schema(schema)
        return [rewrite(item, below, items, rewriter) for item in value]
    return value if value is None else rewriter.leaf(value, spot, schema)


def rewrite_fields(fields: Object, spot: _Spot, schema: Schema, rewriter: Rewriter[_Spot]) -> Object:
    """Return a fieldsV1 of managedFields with the new values of list keys and set items."""
    new: Object = {}
    for key, below in fields.items():
        kind, _, rest = key.partition(":")
        nested: Mapping[str, Any] = below if isinstance(below, dict) else {}
        if kind == "f":
            inner, spot_below, name = member_schema(schema, rest), rewriter.member(spot, rest, {}), key
        elif kind in ("k", "v"):
            inner, spot_below = item_schema(schema), rewriter.item(spot)
            name = f"{kind}:{_rewritten_json(rest, spot_below, inner, rewriter)}"
        else:
            inner, spot_below, name = _NONE, spot, key
        new[name] = rewrite_fields(dict(nested), spot_below, inner, rewriter)
    return new


def member_schema(schema: Schema, name: str) -> Schema:
    """Return the schema of a member, {} if it is not specified."""
    found = (schema.get("properties") or _NONE).get(name)
    if found is None:
        found = schema.get("additionalProperties")
    return found if type(found) is dict else _NONE


def item_schema(schema: Schema) -> Schema:
    """Return the schema of a list's items, {} if it is not specified."""
    found = schema.get("items")
    return found if type(found) is dict else _NONE


def parse_text(text: str) -> Any:
    """Return the JSON value in a text.

    Raises:
        ValueError: the text is not JSON, or nested deeper than MAX_DEPTH.
    """
    value = json_codec.loads(text.encode())
    if is_deeper(value, MAX_DEPTH):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return value


def _rewritten_json(text: str, spot: _Spot, schema: Schema, rewriter: Rewriter[_Spot]) -> str:
    try:
        value = parse_text(text)
    except ValueError:
        return text
    return json_codec.dumps(rewrite(value, spot, schema, rewriter)).decode()
