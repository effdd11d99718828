"""Tests of managedFields that clients send: the same entries survive on both servers.

The reference also records its own writes under the name of the client; the tests ignore these entries.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Side, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import APPLY, DOMAIN, MERGE, THINGS, crds, current, thing

pytestmark = pytest.mark.slow

WRITER: Final = "?fieldManager=writer"
SPEC: Final[dict[str, Any]] = {"size": 1, "text": "x"}
NAMESPACE: Final = "/api/v1/namespaces/managed-fields"
_LAST_SENT: Final = "2022-01-01T00:00:00Z"
_NAMESPACED: Final = {"f:metadata": {"f:annotations": {"f:a": {}, "f:absent": {}}}, "f:status": {"f:phase": {}}}


def _entry(manager: str, **more: Any) -> dict[str, Any]:
    """Return an Update entry with some members replaced; None removes a member."""
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": f"{DOMAIN}/v1",
        "time": "2020-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:size": {}}},
    } | more
    return {key: value for key, value in entry.items() if value is not None}


A: Final = _entry("a")
TEXT: Final[dict[str, Any]] = {"f:spec": {"f:text": {}}}
SENT: Final[dict[str, Any]] = {
    "one": [A],
    "nothing": [],
    "null": None,
    "reset": [{}],
    "two resets": [{}, {}],
    "reset and more": [{}, A],
    "order": [
        _entry("z", time=_LAST_SENT),
        _entry("b"),
        _entry("a", operation="Apply"),
        _entry("c", time=None),
        _entry("b", subresource="x"),
        _entry("b", apiVersion=f"{DOMAIN}/v1alpha1"),
    ],
    "same manager": [A, _entry("a", fieldsV1=TEXT)],
    "same applier": [_entry("a", operation="Apply"), _entry("a", operation="Apply", apiVersion=f"{DOMAIN}/v1beta1", fieldsV1=TEXT)],
    "operation": [_entry("a", operation="Patch"), _entry("b")],
    "no operation": [_entry("a", operation=None)],
    "no version": [_entry("a", apiVersion="")],
    "no type": [_entry("a", fieldsType=None)],
    "type": [_entry("a", fieldsType="FieldsV2")],
    "no fields": [_entry("a", fieldsV1=None)],
    "empty fields": [_entry("a", fieldsV1={}), _entry("b")],
    "null fields": [A | {"fieldsV1": None}],
    "absent fields": [_entry("a", fieldsV1={"f:spec": {"f:nested": {"f:name": {}}}})],
    "several fields": [_entry("a", fieldsV1={"f:spec": {"f:text": {}, "f:size": {}, ".": {}}, "f:metadata": {"f:labels": {".": {}}}})],
    "nameless fields": [_entry("a", fieldsV1={"spec": {}})],
    "unknown fields": [_entry("a", fieldsV1={"x:spec": 5, "f:spec": {"y:a": {}, "f:text": {"f:z": {}, "q:b": {}}}})],
    "only unknown fields": [_entry("a", fieldsV1={"x:spec": {}})],
    "number for fields": [_entry("a", fieldsV1={"f:spec": {"f:size": 1}})],
    "list for fields": [_entry("a", fieldsV1=[1])],
    "text for fields": [_entry("a", fieldsV1="x")],
    "broken key": [_entry("a", fieldsV1={"f:spec": {"k:{": {}}})],
    "broken value": [_entry("a", fieldsV1={"f:spec": {"v:": {}}})],
    "broken index": [_entry("a", fieldsV1={"f:spec": {"i:x": {}}})],
    "great index": [_entry("a", fieldsV1={"f:spec": {"i:9223372036854775808": {}}})],
    "long index": [_entry("a", fieldsV1={"f:spec": {"i:+0000000000000000000000007": {}}})],
    "key of one letter": [_entry("a", fieldsV1={"f": {}})],
    "long manager": [_entry("m" * 128), _entry("m" * 129)],
    "odd manager": [_entry("m\u0001n")],
    "no manager": [_entry("")],
    "subresources": [_entry("a", subresource="status"), _entry("b", subresource="nothing")],
    "long subresource": [_entry("a", subresource="s" * 257)],
    "time": [_entry("a", time="yesterday")],
    "number for time": [_entry("a", time=1)],
    "precise time": [_entry("a", time="2020-01-01T01:00:00.5+01:00")],
    "unknown member": [_entry("a", more=1)],
    "text": "x",
    "list of texts": ["x"],
    "null entry": [None, A],
}


def _survivors(side: Side, step: Step) -> Any:
    """Return the status code, and the entries of other managers or the message; the times that servers set are masked."""
    response, data = side.raw(side.resolved(step))
    answer = json.loads(data)
    if answer.get("kind") == "Status":
        return response.status, masked(answer["message"])
    entries = [entry for entry in answer["metadata"].get("managedFields", []) if entry.get("manager") != "writer"]
    return response.status, [entry | {"time": "now"} if entry.get("time", "") > _LAST_SENT else entry for entry in entries]


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create the definitions and a namespace on both servers."""
    with pair.served(*crds()):
        compared(pair, [Step("POST", "/api/v1/namespaces", {"metadata": {"name": "managed-fields"}})])
        yield pair
        pair.differences(Step("DELETE", NAMESPACE))
        for side in (pair.reference, pair.ours):
            side.raw(Step("PUT", f"{NAMESPACE}/finalize", {"metadata": {"name": "managed-fields"}}))


@pytest.fixture
def one(served: Pair) -> Iterator[str]:
    """Return the path of a Thing whose size is owned by another manager."""
    path, base = f"{THINGS}/a", [_entry("base")]
    compared(served, [Step("POST", THINGS + WRITER, thing(spec=SPEC))])
    compared(served, [Step("PUT", path + WRITER, thing("a", current(path) | {"managedFields": base}, spec=SPEC))])
    yield path
    compared(served, [Step("DELETE", path)])


@pytest.mark.parametrize("name", SENT)
def test_carried_through(served: Pair, one: str, name: str) -> None:
    """Keep, replace or refuse entries alike in replacements, patches and subresource writes."""
    metadata = {"managedFields": SENT[name]}
    steps = [
        Step("PUT", f"{one}/status{WRITER}", thing("a", current(one) | metadata, status={"phase": name})),
        Step("PATCH", f"{one}/status{WRITER}", {"metadata": metadata}, MERGE),
        Step("PUT", one + WRITER, thing("a", current(one) | metadata, spec=SPEC)),
        Step("PATCH", one + WRITER, {"metadata": metadata}, MERGE),
        Step("PATCH", one + WRITER, {"metadata": {"annotations": {"a": name}}}, MERGE),
        Step("PATCH", f"{one}/scale{WRITER}", {"status": {"replicas": 1}, "spec": {"replicas": 1}}, MERGE),
    ]
    for step in steps:
        assert _survivors(served.ours, step) == _survivors(served.reference, step), str(step)


@pytest.mark.parametrize("version", ["v1", "apps/v1", f"{DOMAIN}/v9", "a/b/c", "/", f"{DOMAIN}/", "__internal", 'a"b/v1'])
def test_of_versions_that_the_definition_does_not_have(served: Pair, one: str, version: str) -> None:
    """Keep or refuse entries of other versions alike, and answer later writes alike: applies may fail because of them."""
    entries = [_entry("a", apiVersion=version), _entry("b", operation="Apply", apiVersion=version, fieldsV1=TEXT)]
    applied = thing("a", spec={"size": 2, "text": "y"})
    steps = [
        Step("PATCH", one + WRITER, {"metadata": {"managedFields": entries}}, MERGE),
        Step("PATCH", one + WRITER, {"spec": {"size": 3}}, MERGE),
        Step("PATCH", one + WRITER, applied, APPLY),
        Step("PATCH", f"{one}{WRITER}&force=true", applied, APPLY),
        Step("PATCH", f"{one}?fieldManager=b&force=true", applied, APPLY),
        Step("PATCH", f"{one}/status?fieldManager=b&force=true", thing("a", status={"phase": "x"}), APPLY),
    ]
    for step in steps:
        assert _survivors(served.ours, step) == _survivors(served.reference, step), str(step)


@pytest.mark.parametrize("sent", [{}, {"kind": "Scale"}, {"apiVersion": "autoscaling/v1"}])
def test_scale_of_unknown_kind(served: Pair, one: str, sent: dict[str, str]) -> None:
    """Record the same managers after a PUT of a Scale without kind or apiVersion."""
    scale = sent | {"metadata": {"name": "a"}, "spec": {"replicas": 7}}

    compared(served, [Step("PUT", f"{one}/scale{WRITER}", scale), Step("GET", one)])


@pytest.mark.parametrize("name", [name for name in SENT if "fields" in name or "key" in name or name in ("reset", "operation", "nothing")])
def test_created_with(served: Pair, name: str) -> None:
    """Keep alike the sent entries of a new object about fields that it does not have."""
    sent = [
        entry | {"fieldsV1": {"f:spec": {"f:nested": entry["fieldsV1"]}}} if "fieldsV1" in entry else entry for entry in SENT[name] or ()
    ]
    step = Step("POST", f"{THINGS}{WRITER}&dryRun=All", thing("new", {"managedFields": sent}))

    assert _survivors(served.ours, step) == _survivors(served.reference, step)


@pytest.mark.parametrize("sent", [[], None, [{}], [_entry("a", apiVersion="v1", fieldsV1={"f:metadata": {"f:labels": {"f:no": {}}}})]])
@pytest.mark.parametrize("tail", ["", "/status", "/finalize"])
def test_of_a_namespace(served: Pair, sent: Any, tail: str) -> None:
    """Treat the entries of a namespace alike; null differs from an empty list there."""
    entry = _entry("base", apiVersion="v1", fieldsV1={"f:metadata": {"f:annotations": {"f:none": {}}}})
    body = {
        "metadata": {"name": "managed-fields", "managedFields": sent},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    steps = [
        Step("PATCH", NAMESPACE + WRITER, {"metadata": {"managedFields": [entry]}}, MERGE),
        Step("PUT", NAMESPACE + tail + WRITER, body),
    ]
    for step in steps:
        assert _survivors(served.ours, step) == _survivors(served.reference, step), str(step)


@pytest.mark.parametrize("name", SENT)
def test_of_a_new_namespace(served: Pair, name: str) -> None:
    """Keep, drop or refuse the sent entries of a new namespace alike: those of another kind, and the same about a namespace."""
    entries = SENT[name]
    fitting = entries
    if isinstance(entries, list):
        fitting = [one | {"apiVersion": "v1", "fieldsV1": _NAMESPACED} if isinstance(one, dict) and one else one for one in entries]
    for sent in (entries, fitting):
        metadata = {"name": "new-managed-fields", "annotations": {"a": "b"}, "managedFields": sent}
        for query in ("?dryRun=All", f"{WRITER}&dryRun=All"):
            step = Step("POST", f"/api/v1/namespaces{query}", {"metadata": metadata})
            assert _survivors(served.ours, step) == _survivors(served.reference, step), str(step)
