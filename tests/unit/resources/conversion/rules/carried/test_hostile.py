"""Carriers that no conversion wrote: clients can write the annotation."""

import base64
import copy
import json
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.rules.carried.annotation import MAX_CARRIED_BYTES, parse
from apiext.resources.conversion.rules.carried.entries import digest
from apiext.resources.conversion.rules.model import CARRIED
from apiext.schema.compiled import CompiledSchema
from tests.support.conversion_rules import converter

_META = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
_SPEC = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"},
        "text": {"type": "string"},
        "sub": {"type": "object", "properties": {"a": {"type": "string"}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "a": {"type": "string"}}}},
        "template": _META,
    },
}
_SAME = converter({("v1", "v2"): lambda _: True, ("v2", "v1"): lambda _: True}, {"v1": _SPEC, "v2": _SPEC})
_NEVER = digest("never")


def _restored(entries: Any, spec: Any, *, packed: bool = False) -> Object:
    """Return the object of v2 that an object of v1 with a carrier becomes."""
    text = entries if isinstance(entries, str) else json.dumps({"v2": entries})
    if packed:
        text = "z1:" + base64.b64encode(zlib.compress(text.encode())).decode()
    metadata = {"name": "a", "uid": "u", "labels": {"l": "1"}, "annotations": {CARRIED: text}}
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": copy.deepcopy(spec)}
    return _SAME.convert_inline(obj, "example.com/v2")


def _unchanged(spec: Any) -> Object:
    return {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "a", "uid": "u", "labels": {"l": "1"}}, "spec": spec}


SPEC = {"text": "x", "list": [{"name": "n"}], "template": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "p"}}}


@pytest.mark.parametrize(
    "entries",
    [
        # identity
        [["f", ["metadata", "name"], digest("a"), "b"]],
        [["f", ["metadata", "uid"], digest("u"), "b"]],
        [["f", ["metadata"], "", {}]],
        [["f", ["metadata", "finalizers"], "", ["x"]]],
        [["f", ["metadata", "ownerReferences"], "", []]],
        [["f", ["apiVersion"], digest("example.com/v2"), "v1"]],
        [["f", ["kind"], digest("Widget"), "Pod"]],
        [["f", ["metadata", "annotations", CARRIED], "", "x"]],
        [["i", ["metadata"], {}]],
        [["o", ["metadata", "x"], "", [0]]],
        # types, and fields that the version does not have
        [["f", ["spec", "number"], "", "text"]],
        [["f", ["spec", "number"], "", True]],
        [["f", ["spec", "unknown"], "", 1]],
        [["f", ["spec"], digest(SPEC), []]],
        [["f", ["status"], "", {}]],
        [["f", ["spec", "list"], digest([{"name": "n"}]), [1]]],
        [["i", ["spec", "list"], {digest({"name": "n"}): ["x"]}]],
        [["f", ["spec", "list", {"name": "m"}], "", {"name": "other"}]],
        [["f", ["spec", "list", {"name": "n"}], digest({"name": "n"}), {"name": "other"}]],
        [["f", ["spec", "list", {"name": "n"}, "a"], "", 5]],
        [["f", ["spec", "template", "metadata", "labels"], "", {"a": 1}]],
        [["f", ["spec", "template", "metadata", "name"], digest("p"), 1]],
        [["f", ["spec", "template", "metadata"], digest({"name": "p"}), {"labels": 5}]],
        [["f", ["spec", "template", "kind"], digest("P"), 5]],
        # labels and annotations
        [["f", ["metadata", "labels", "a b"], "", "x"]],
        [["f", ["metadata", "labels", "a"], "", 1]],
        [["f", ["metadata", "annotations", "a"], "", {}]],
        # what the fields are not bound to
        [["f", ["spec", "text"], "", "y"]],
        [["f", ["spec", "text"], _NEVER, "y"]],
        [["f", ["spec", "sub", "a"], "", "y"]],
        [["o", ["spec", "list"], _NEVER, [0]]],
        # form
        "{", "[]", "1", '{"v2":5}', '{"v2":"large"}', "z1:x", "z1:" + base64.b64encode(b"x").decode(),
        '{"v9":[["f",["spec","number"],"",1]]}',
        [5], [[]], [["f"]], [["x", ["spec"], ""]], [["f", [], "", 1]], [["f", ["spec", 5], "", 1]], [["f", ["spec", {}], "", 1]],
        [["f", ["spec", "number"], 5, 1]], [["o", ["spec", "list"], digest(["n"]), [0, 0]]], [["o", ["spec", "list"], "", [True]]],
        [["o", ["spec", "list"], "", [0], []]], [["i", ["spec", "list"], []]], [["i", ["spec", "list"], {"x": 1}]],
        [["f", ["spec", {"name": []}], "", 1]], [["f", ["spec", "number"], "", 1, 2]],
        # the same place twice, or one through another
        [["f", ["spec", "number"], "", 1], ["f", ["spec", "number"], "", 2]],
        [["f", ["spec", "sub"], "", {}], ["f", ["spec", "sub", "a"], "", "x"]],
        [["f", ["spec", "sub", "a"], "", "x"], ["f", ["spec", "sub"], "", {}]],
        [["f", ["x"] * 65, "", 1]],
    ],
)  # fmt: skip
def test_what_does_not_fit_is_ignored(entries: Any) -> None:
    """Leave the object as the rules make it."""
    assert _restored(entries, SPEC) == _unchanged(SPEC)


def test_fitting_entries_beside_others() -> None:
    """Restore what fits, and prune unknown fields from it."""
    entries = [["f", ["spec", "sub"], "", {"a": "x", "unknown": 1}], ["f", ["spec", "unknown"], "", 1]]

    assert _restored(entries, SPEC)["spec"] == SPEC | {"sub": {"a": "x"}}


def test_marks_of_stored_objects_count_for_nothing() -> None:
    """Read stored objects whatever a client wrote into them: the server stores no object with such a mark."""
    stored = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"annotations": {CARRIED: '{"v1":"too large"}'}}, "spec": {}}

    assert _SAME.convert_inline(stored, "example.com/v1")["metadata"] == {}


def test_bombs() -> None:
    """Decompress no more than the limit, and read no long text."""
    entries = [["f", ["spec", "text"], digest("x"), "y" * 2_000_000]]

    assert _restored(entries, SPEC, packed=True) == _unchanged(SPEC)
    assert parse(" " * MAX_CARRIED_BYTES + "{}", ["v2"], marked=True) == {}
    assert parse("[" * 60_000, ["v2"], marked=True) == {}


def test_deep_values() -> None:
    """Refuse values that are nested deeper than a body may be."""
    deep: Any = "x"
    for _ in range(240):
        deep = [deep]

    assert _restored([["f", ["spec", "template", "x"], "", deep]], SPEC) == _unchanged(SPEC)


@pytest.mark.parametrize("keys", ["same", "different"])
@pytest.mark.parametrize("removed", [True, False])
def test_many_entries_take_linear_time(keys: str, removed: bool) -> None:  # noqa: FBT001
    """Find items of a long list by one index, and remove them together."""
    items = [{"name": str(number)} for number in range(2_000)]
    place = ["spec", "list"]
    entries: list[Any] = [["f", [*place, {"name": item["name"]}], digest(item)] for item in items]
    if not removed:
        entries = [["f", [*place, {"name": item["name"]}, "a"], "", "x"] for item in items]
    if keys == "different":
        entries += [["f", [*place, {f"k{number}": "x"}, "a"], "", "x"] for number in range(2_000)]

    found = _restored(entries, {"list": items}, packed=True)["spec"]["list"]

    assert found == ([] if removed else [item | {"a": "x"} for item in items])


_JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.sampled_from(["f", "i", "o", "", "v2", "spec", "text", "list", "metadata", "name"])
    ),
    lambda below: st.one_of(st.lists(below, max_size=5), st.dictionaries(st.sampled_from(["v2", "v1", "name", "", digest("x")]), below)),
    max_leaves=20,
)
_ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(["f", "i", "o"]),
        st.lists(st.sampled_from(["spec", "text", "list", "number", "sub", "template", "metadata", "labels", {"name": "n"}]), max_size=4),
        st.one_of(st.sampled_from(["", digest("x"), digest({"name": "n"})]), _JSON),
        _JSON,
    )
)


@settings(max_examples=150, deadline=None)
@given(entries=st.one_of(_JSON, _ENTRIES))
def test_any_carrier(entries: Any) -> None:
    """Give an object of the schema's types, with its identity, for any annotation."""
    found = _restored(entries, SPEC)

    assert {name: found["metadata"].get(name) for name in ("name", "uid")} == {"name": "a", "uid": "u"}
    assert (found["apiVersion"], found["kind"]) == ("example.com/v2", "Widget")
    schema = CompiledSchema({"type": "object", "properties": {"spec": _SPEC}})
    assert schema.coerce(found, report=True) == []
    assert schema.is_valid(found)
