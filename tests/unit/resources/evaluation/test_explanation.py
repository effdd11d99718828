"""Explanations of single updates."""

import copy
from typing import Any, Final

from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.resources.evaluation.explanation import Explanation, explain_update
from tests.support.builders.crds import crd, definition
from tests.support.builders.definition_pairs import INTEGER, KEYED, STATUS, STRING, root, several, struct, v1

Json = dict[str, Any]
SMALL: Final = INTEGER | {"maximum": 5}
ITEM: Final = struct(name=STRING, size=SMALL) | {"required": ["name"]}
SCHEMA: Final = root(
    host=STRING | {"maxLength": 2},
    size=SMALL,
    keyed=several(ITEM, **KEYED),
    atomic=several(ITEM),
    ordered=struct("self.x < self.y", x=INTEGER, y=INTEGER),
    frozen=struct("self.x == oldSelf.x", x=INTEGER),
    any=struct(z=INTEGER) | {"anyOf": [{"properties": {"z": {"minimum": 9}}}]},
    set=several(STRING, **{"x-kubernetes-list-type": "set"}),
    status=struct(count=SMALL),
)
VERSION: Final = CompiledDefinition(definition(crd("widgets", v1(SCHEMA, **STATUS)))).version("v1")
OLD: Final[Json] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "default", "uid": "1", "resourceVersion": "1", "generation": 1},
    "spec": {
        "host": "abcd",
        "size": 9,
        "keyed": [{"name": "x", "size": 9}, {"name": "y", "size": 8}],
        "atomic": [{"name": "x", "size": 9}],
        "ordered": {"x": 5, "y": 3},
        "frozen": {"x": 1},
        "any": {"z": 1},
        "set": ["a", "a"],
    },
    "status": {"count": 7},
}


def explained(subresource: str = "", status: Json | None = None, **changes: Any) -> Explanation:
    """Return the explanation of an update that changes members of the spec."""
    new = copy.deepcopy(OLD)
    new["spec"] |= changes
    if status is not None:
        new["status"] = status
    return explain_update(VERSION, new, OLD, subresource)


def reasons(found: Explanation) -> tuple[dict[str, str], dict[str, str]]:
    """Return the reasons of errors and of tolerated violations by path."""
    return {each.path: each.why for each in found.errors}, {each.path: each.why for each in found.tolerated}


def test_an_unrelated_change_is_tolerated() -> None:
    """Accept an update that leaves all violations unchanged, and say why each is tolerated."""
    found = explained(frozen={"x": 1})
    errors, tolerated = reasons(found)

    assert found.is_accepted
    assert errors == {}
    assert tolerated == {
        "<nil>": "spec is unchanged",
        "spec.any.z": "spec is unchanged",
        "spec.atomic[0].size": "spec is unchanged",
        "spec.host": "spec is unchanged",
        "spec.keyed[0].size": "spec is unchanged",
        "spec.keyed[1].size": "spec is unchanged",
        "spec.ordered": "spec is unchanged",
        "spec.set[1]": "the old object has repeated items in a list, too",
        "spec.size": "spec is unchanged",
        "status.count": "status is unchanged",
    }


def test_each_change_of_a_violating_value_is_an_error() -> None:
    """Say for each violation whether it is an error, and why."""
    keyed = [{"name": "y", "size": 8}, {"name": "z", "size": 7}, {"name": "x", "size": 6}]
    found = explained(
        size=8, keyed=keyed, atomic=[{"name": "x", "size": 9}, {"name": "y"}], ordered={"x": 5, "y": 4}, frozen={"x": 2}, any={"z": 2}
    )
    errors, tolerated = reasons(found)

    assert not found.is_accepted
    assert "spec.size: Invalid value: 8" in found.answer
    assert errors == {
        "<nil>": "spec.any.z has changed from 1 to 2",
        "spec.any.z": "spec.any.z has changed from 1 to 2",
        "spec.atomic[0].size": "the list spec.atomic has changed, and it is not of type map: its items have no counterparts",
        "spec.frozen": "spec.frozen.x has changed from 1 to 2",
        "spec.keyed[1].size": "the old list has no item spec.keyed[name=z]",
        "spec.keyed[2].size": "spec.keyed[name=x].size has changed from 9 to 6",
        "spec.ordered": "spec.ordered.y has changed from 3 to 4",
        "spec.size": "spec.size has changed from 9 to 8",
    }
    assert tolerated["spec.keyed[0].size"] == "spec.keyed[name=y] is unchanged; its items are matched by name"


def test_rules_wait_for_other_errors() -> None:
    """List violated rules that the server does not check before missing fields are corrected."""
    found = explained(keyed=[{"size": 1}], ordered={"x": 5, "y": 4})
    errors, _ = reasons(found)

    assert errors["spec.keyed[0].name"] == "the old list has no item spec.keyed[]"
    assert errors["<nil>"] == "an error of the evaluation itself is never tolerated"
    assert [each.path for each in found.unchecked] == ["spec.ordered"]


def test_status_updates_validate_the_status_only() -> None:
    """Explain an update of the status subresource."""
    found = explained("status", {"count": 8})

    assert [(each.path, each.why) for each in found.errors] == [("status.count", "status.count has changed from 7 to 8")]


def test_a_create_tolerates_nothing() -> None:
    """Explain a create, whose violations are all errors."""
    found = explain_update(VERSION, OLD, None)

    assert not found.is_accepted
    assert found.tolerated == []
    assert {each.why for each in found.errors} == {"a create tolerates nothing"}


def test_metadata_is_never_tolerated() -> None:
    """Explain an error of the metadata."""
    new = copy.deepcopy(OLD)
    new["metadata"]["labels"] = {"-": "x"}
    found = explain_update(VERSION, new, OLD)

    assert [(each.path, each.why) for each in found.errors] == [("metadata.labels", "only violations of the schema are tolerated")]


def test_unknown_fields_are_named() -> None:
    """Say which fields the server drops."""
    assert explained(foo=1).unknown == ['unknown field "spec.foo"']
