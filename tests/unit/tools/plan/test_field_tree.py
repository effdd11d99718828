"""The fields of both schemas as a tree."""

from typing import Any, Final

import pytest

from apiext.tools.plan import field_tree
from apiext.tools.plan.field_tree import FieldNode, FieldTree, trees_of
from tests.support.builders.crds import version
from tests.support.builders.plans import created, only, plan_of, schema, shaped

TEXT: Final = {"type": "string"}


def _trees(old: dict[str, Any], new: dict[str, Any]) -> list[FieldTree]:
    plan = only(plan_of(created(version("v1", storage=True, schema=old)), created(version("v1", storage=True, schema=new))))
    return trees_of(*plan.compared, plan.changes)


def _names(nodes: Any, path: str = "") -> dict[str, str]:
    """Return the marks of all nodes by path."""
    found = {}
    for node in nodes:
        found[f"{path}{node.name}"] = node.mark
        found |= _names(node.below, f"{path}{node.name}.")
    return found


def test_marks_what_changes() -> None:
    """Mark added, removed and changed fields, and count them above."""
    (tree,) = _trees(schema("kept", "gone", wider=TEXT | {"maxLength": 3}), schema("kept", "more", wider=TEXT))
    (spec,) = tree.fields

    assert _names(tree.fields) == {"spec": "", "spec.kept": "", "spec.more": "added", "spec.wider": "changed", "spec.gone": "removed"}
    assert (tree.added, tree.removed, tree.changed, spec.changes) == (1, 1, 1, 3)
    assert spec.below[2] == FieldNode("wider", "string", "changed", ["maxLength 3 was removed"], [], 0)


def test_items_and_values() -> None:
    """Show the fields of items and of values below the list or the map, with their types."""
    item = {"type": "object", "properties": {"name": TEXT, "size": {"x-kubernetes-int-or-string": True}}}
    mode = TEXT | {"enum": ["a", "b"]}
    old = schema(
        hosts={"type": "array", "items": item}, labels={"type": "object", "additionalProperties": TEXT | {"maxLength": 9}}, mode=mode
    )
    new = schema(
        hosts={"type": "array", "items": item | {"properties": {"name": TEXT}}},
        labels={"type": "object", "additionalProperties": TEXT},
        mode=mode,
    )
    (tree,) = _trees(old, new)
    hosts, labels, chosen = tree.fields[0].below

    assert (hosts.type, labels.type, chosen.type) == ("list of object", "map of string", "string: a, b")
    assert [(node.name, node.type, node.mark) for node in hosts.below] == [("name", "string", ""), ("size", "integer or string", "removed")]
    assert (labels.mark, labels.messages) == ("changed", ["maxLength 9 was removed"])


def test_versions() -> None:
    """Have a tree for each version of both definitions."""
    plan = only(plan_of(created(shaped("v1", "a", storage=True)), created(shaped("v2", "a", storage=True))))

    assert [(tree.version, tree.state) for tree in trees_of(*plan.compared, plan.changes)] == [("v2", "added"), ("v1", "removed")]
    assert trees_of(None, None, []) == []


def test_large_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out fields that do not change from a large schema, and say so."""
    monkeypatch.setattr(field_tree, "MAX_UNCHANGED", 2)
    (tree,) = _trees(schema(*"abcdef"), schema(*"abcdefg"))

    assert _names(tree.fields) == {"spec": "", "spec.a": "", "spec.b": "", "spec.g": "added"}
    assert tree.cut
