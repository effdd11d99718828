"""Writes of one object."""

from typing import Any, Final

from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.resources.evaluation.compiled_version import CompiledVersion
from apiext.tools.judgement.writes import LABEL, judge_writes, with_label
from tests.support.builders.crds import crd, definition
from tests.support.builders.definition_pairs import INTEGER, STATUS, STRING, root, struct, v1

Json = dict[str, Any]
OBJECT: Final[Json] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "default", "uid": "1", "resourceVersion": "1", "generation": 1},
    "spec": {"size": 9},
    "status": {"count": 9},
}


def _version(schema: Json, **more: Any) -> CompiledVersion:
    return CompiledDefinition(definition(crd("widgets", v1(schema, **more)))).version("v1")


def test_a_label_is_set_in_a_copy() -> None:
    """Leave the object and its labels as they are."""
    labelled = with_label(OBJECT | {"metadata": {"labels": {"a": "b"}}})

    assert labelled["metadata"]["labels"] == {"a": "b", LABEL: "true"}
    assert "labels" not in OBJECT["metadata"]


def test_a_valid_object_has_no_problems() -> None:
    """Write an object that satisfies its schema."""
    found = judge_writes(_version(root(size=INTEGER)), OBJECT)

    assert (found.invalid, found.stuck, found.stuck_status) == ({}, {}, {})
    assert found.written is not None
    assert found.written["metadata"]["generation"] == 1


def test_a_create_drops_the_status() -> None:
    """Find that a create is refused where the root demands a status, although updates pass."""
    found = judge_writes(_version(root(size=INTEGER) | {"required": ["status"]}, **STATUS), OBJECT)

    assert list(found.invalid) == [("status", "Required value")]
    assert found.stuck == {}


def test_the_status_is_validated_as_a_whole() -> None:
    """Find violations in the status, which updates of it tolerate as long as they are unchanged."""
    found = judge_writes(_version(root(size=INTEGER, status=struct(count=INTEGER | {"maximum": 5})), **STATUS), OBJECT)

    assert list(found.invalid) == [("status.count", "Invalid value: status.count in body should be less than or equal to 5")]
    assert (found.stuck, found.stuck_status) == ({}, {})


def test_defaults_belong_to_the_body() -> None:
    """Write what a request's body has: with the defaults of the version."""
    found = judge_writes(_version(root(size=INTEGER, mode=STRING | {"default": "x"})), OBJECT)

    assert found.body["spec"] == {"size": 9, "mode": "x"}
    assert OBJECT["spec"] == {"size": 9}


def test_the_answer_of_the_server_is_kept() -> None:
    """Keep the message of a refused update."""
    found = judge_writes(_version(root("self.spec.size < 5", size=INTEGER)), OBJECT)

    assert found.written is None
    assert found.refusal is not None
    assert found.refusal.message == 'Widget.example.com "a" is invalid: <nil>: Invalid value: failed rule: self.spec.size < 5'
