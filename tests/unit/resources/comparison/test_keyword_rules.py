"""Every keyword of a schema has a rule."""

from __future__ import annotations

from typing import Any, Final

import pytest

from apiext.resources.comparison.schema_comparison import CHILDREN, KEYWORD_RULES, compare_schemas
from apiext.schema.keywords import KEYWORDS

RULE: Final = {"rule": "self.a == 'b'"}
VALUES: Final[dict[str, Any]] = {
    "text": "a",
    "optional text": "a",
    "url": "http://a",
    "flag": True,
    "optional flag": True,
    "count": 3,
    "number": 3,
    "value": "a",
    "values": ["a"],
    "names": ["a"],
    "rules": [RULE],
    "docs": {"url": "http://a"},
    "schema": {"minLength": 1},
    "schema or bool": True,
    "schema or schemas": {"type": "string"},
    "schemas": [{"minLength": 1}],
    "named schemas": {"a": {"type": "string"}},
    "definitions": {"a": {"type": "string"}},
    "dependencies": {"a": ["b"]},
}
"""A value of each kind of keyword."""
OF_OTHERS: Final[dict[str, Any]] = {
    "exclusiveMinimum": {"minimum": 1},
    "exclusiveMaximum": {"maximum": 1},
    "x-kubernetes-list-map-keys": {"x-kubernetes-list-type": "map"},
}
"""Keywords that mean something only beside another."""
NAMES: Final = [each.name for each in KEYWORDS]


def test_every_keyword_has_a_rule() -> None:
    """Compare each keyword by a rule, except those whose schemas the walk compares."""
    assert set(KEYWORD_RULES) | CHILDREN == set(NAMES)
    assert set(KEYWORD_RULES) & CHILDREN == set()


@pytest.mark.parametrize("keyword", KEYWORDS, ids=NAMES)
def test_a_keyword_that_comes_or_goes_is_a_change(keyword: Any) -> None:
    """Find a change of a field where a keyword is added, and one where it is removed."""
    name = keyword.name
    without = OF_OTHERS.get(name, {})
    with_it = without | {name: VALUES[keyword.kind]}

    for old, new in ((without, with_it), (with_it, without)):
        changes = compare_schemas({"properties": {"spec": old}}, {"properties": {"spec": new}})
        assert {change.path.rstrip("[]") for change in changes} in ({"spec"}, {"spec.a"}), changes
    assert compare_schemas({"properties": {"spec": with_it}}, {"properties": {"spec": dict(with_it)}}) == []
