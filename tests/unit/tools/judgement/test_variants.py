"""Valid changes of objects."""

from typing import Any, Final

from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.resources.evaluation.fields import ABSENT, at
from apiext.tools.judgement.variants import Variants
from tests.support.builders.crds import crd, definition
from tests.support.builders.definition_pairs import INTEGER, STRING, root, several, struct, v1

SCHEMA: Final = root(
    mode=STRING | {"enum": ["a", "b"]},
    size=INTEGER | {"maximum": 5},
    set=STRING | {"default": "x"},
    list=several(struct(on={"type": "boolean"})),
)
VERSION: Final = CompiledDefinition(definition(crd("widgets", v1(SCHEMA)))).version("v1")
OBJECT: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "default", "uid": "1", "resourceVersion": "1", "generation": 1},
    "spec": {"mode": "a", "size": 5, "set": "x", "list": [{"on": True}]},
}


def test_all_fields_are_changed_and_removed_in_turn() -> None:
    """Change each field in a few objects, to valid values, and remove those that no default restores."""
    variants = Variants(VERSION)
    found = [variant for _ in range(40) for variant in variants.of(OBJECT)]
    changed = {(variant.path, at(variant.object, variant.steps)) for variant in found if not variant.is_removal}
    removed = {variant.path for variant in found if variant.is_removal}

    assert changed == {("spec.mode", "b"), ("spec.size", 4), ("spec.set", "xx"), ("spec.list[].on", False)}
    assert removed == {"spec.mode", "spec.size", "spec.list[].on"}
    assert len(found) == 3 * (len(changed) + len(removed))
    assert all(VERSION.create_errors(variant.object) == [] for variant in found)
    assert OBJECT["spec"]["size"] == 5


def test_a_missing_value_is_absent() -> None:
    """Find nothing at a path that an object does not have."""
    assert at(OBJECT, ("spec", "list", 3)) is ABSENT
    assert at(OBJECT, ("spec", "mode", "x")) is ABSENT
    assert at(OBJECT, ("spec", "list", 0, "on")) is True
