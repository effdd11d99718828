"""Rewrites of values by their places."""

from typing import Any

from apiext.tools.recordings.object_walk import item_schema, member_schema, rewrite, rewrite_fields


class _Paths:
    """Replaces each value with its path and the type in its schema."""

    def member(self, spot: str, name: str, owner: dict[str, Any]) -> str:
        return f"{spot}.{name}"

    def item(self, spot: str) -> str:
        return f"{spot}[]"

    def leaf(self, value: Any, spot: str, schema: dict[str, Any]) -> Any:
        return f"{spot} {schema.get('type', '')}"


SCHEMA: dict[str, Any] = {
    "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"additionalProperties": {"type": "integer"}}},
    "additionalProperties": True,
}


def test_rewrites_values() -> None:
    """Visit each leaf with its place and its schema; null stays."""
    given = {"a": ["x"], "b": {"k": 1}, "c": {"d": True}, "n": None}

    assert rewrite(given, "", SCHEMA, _Paths()) == {"a": [".a[] string"], "b": {"k": ".b.k integer"}, "c": {"d": ".c.d "}, "n": None}


def test_rewrites_managed_fields() -> None:
    """Rewrite the values in keys of list items; keep names, positions and what is no JSON."""
    given = {"f:a": {".": {}, 'v:"x"': {}, "i:0": {}, "v:{": {}}, "f:c": {'k:{"d":"y"}': {"f:e": {}}}}

    assert rewrite_fields(given, "", SCHEMA, _Paths()) == {
        "f:a": {".": {}, 'v:".a[] string"': {}, "i:0": {}, "v:{": {}},
        "f:c": {'k:{"d":".c[].d "}': {"f:e": {}}},
    }


def test_schemas_of_parts() -> None:
    """Return an empty schema for parts that are not specified."""
    assert (member_schema({}, "a"), item_schema({}), member_schema({"additionalProperties": True}, "a")) == ({}, {}, {})
