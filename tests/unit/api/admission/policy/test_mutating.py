"""Mutating policies: patches and apply configurations, their order, faults, and when they run again."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.policy.mutating import MutatingAdmissionPolicies
from apiext.api.admission.sources import PolicyEntry
from apiext.base.meta.errors import StatusError
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from tests.unit.api.admission.policy.fakes import Sources, policy, write


def _patch(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def _apply(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def _set(value: int) -> dict[str, Any]:
    return _patch(f"[JSONPatch{{op: 'add', path: '/spec/size', value: {value}}}]")


async def _admit(*entries: PolicyEntry, attributes: Attributes | None = None) -> Attributes:
    attributes = attributes or write({"size": 3})
    sources = Sources()
    sources.entries = list(entries)
    await MutatingAdmissionPolicies(sources.all).admit(attributes)
    return attributes


async def _fault(*mutations: dict[str, Any], **spec: Any) -> StatusError:
    with pytest.raises(StatusError) as raised:
        await _admit(policy(mutations=mutations, **spec))
    return raised.value


async def _mutated(*mutations: dict[str, Any], **spec: Any) -> dict[str, Any]:
    attributes = await _admit(policy(mutations=mutations, **spec))
    assert attributes.new is not None
    found: dict[str, Any] = attributes.new["spec"]
    return found


@pytest.mark.parametrize(
    "value, expected",
    [
        ("1.5", 1.5),
        ("2.0", 2),
        ("9007199254740993", "9007199254740993"),
        ("duration('1h')", "3600s"),
        ("timestamp('2020-01-01T00:00:00Z')", "2020-01-01T00:00:00Z"),
        ("b'ab'", "YWI="),
        ("null", None),
        ("[{'a': [1]}]", [{"a": [1]}]),
        ("Object.spec{a: 1, b: Object.spec.b{c: ['x']}}", {"a": 1, "b": {"c": ["x"]}}),
        ("object.metadata.labels", {"a": "b"}),
    ],
)
async def test_values_of_json_patches(value: str, expected: Any) -> None:
    """Values become JSON as in Protobuf: large integers, times and bytes are texts."""
    found = await _mutated(_patch(f"[JSONPatch{{op: 'add', path: '/spec/x', value: {value}}}]"))

    assert (found["x"], type(found["x"])) == (expected, type(expected))


async def test_operations() -> None:
    """All operations apply in order; a test that fails leaves the object as it is, with defaults."""
    moved = _patch(
        "[JSONPatch{op: 'copy', from: '/spec/size', path: '/spec/copy'}, JSONPatch{op: 'move', from: '/spec/size', path: '/spec/new'}]"
    )
    tested = _patch("[JSONPatch{op: 'test', path: '/spec/size', value: 4}, JSONPatch{op: 'remove', path: '/spec/size'}]")

    assert await _mutated(moved) == {"mode": "auto", "copy": 3, "new": 3}
    assert await _mutated(tested) == {"mode": "auto", "size": 3}


async def test_many_operations_are_applied_aside() -> None:
    """In a thread, or by the write in a worker process."""
    many = _patch("[" + ", ".join(["JSONPatch{op: 'copy', from: '/spec/size', path: '/spec/copy'}"] * 5) + "]")

    assert (await _mutated(many))["copy"] == 3
    with InlineWork(), pytest.raises(HeavyWorkError):
        await _mutated(many)


async def test_apply_configurations() -> None:
    """A configuration is merged into the object; mutations of a policy see the ones before them."""
    first = _apply("Object{spec: Object.spec{size: object.spec.size + 1, list: ['a'], map: {'k': 'v'}}}")
    second = _apply("Object{spec: Object.spec{size: object.spec.size * 2, ?no: optional.none()}}")

    assert await _mutated(first, second) == {"mode": "auto", "size": 8, "list": ["a"], "map": {"k": "v"}}


@pytest.mark.parametrize(
    "mutation, message",
    [
        (
            _patch("[JSONPatch{op: 'remove', path: '/spec/nope'}]"),
            "JSON Patch: error in remove for path: '/spec/nope': Unable to remove nonexistent key: nope: missing value",
        ),
        (_patch("[JSONPatch{op: 'nope', path: '/spec'}]"), "JSON Patch: Unexpected kind: nope"),
        (
            _apply("Object{spec: Object.spec{a: Object.wrong{}}}"),
            (
                'type mismatch: unexpected type name "Object.wrong", expected "Object.spec.a",'
                " which matches field name path from root Object type"
            ),
        ),
        (
            _apply("Object{spec: Object.spec{atomic: [1]}}"),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.atomic",
        ),
        (
            _apply("Object{spec: Object.spec{a: object.nope}}"),
            "expression 'Object{spec: Object.spec{a: object.nope}}' resulted in error: no such key: nope",
        ),
        (_apply("Object"), "must evaluate to Object but got type(Object)"),
        (
            _apply("Object{data: Object.data{a: '%'}}"),
            (
                "unable to convert unstructured object to example.com/v1, Kind=Widget: "
                "error decoding from json: illegal base64 data at input byte 0"
            ),
        ),
    ],
)
async def test_faults(mutation: dict[str, Any], message: str) -> None:
    """A mutation without result rejects the write as invalid, with the code 403; with Ignore it is skipped."""
    fault = await _fault(mutation)

    text = f"policy 'p' with binding 'p-0' denied request: {message}"
    assert fault.status() | {"metadata": {}} == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": text,
        "reason": "Invalid",
        "details": {"name": "w", "group": "example.com", "kind": "widgets", "causes": [{"message": text}]},
        "code": 403,
    }
    assert (await _mutated(mutation, _set(7), failurePolicy="Ignore"))["size"] == 7


async def test_all_faults_are_causes() -> None:
    """The first one is the message."""
    wrong = {"paramKind": {"apiVersion": "v1", "kind": "Nope"}}
    with pytest.raises(StatusError) as raised:
        await _admit(policy("a", mutations=[_set(1)], **wrong), policy("b", mutations=[_patch("[JSONPatch{op: 'x'}]"), _set(2)]))

    first = "policy \"a\" denied request: failed to configure policy: failed to find resource referenced by paramKind: '/v1, Kind=Nope'"
    assert raised.value.message == first
    assert raised.value.reason == "Forbidden"
    causes = [cause["message"] for cause in (raised.value.details or {})["causes"]]
    assert causes == [first, "policy 'b' with binding 'b-0' denied request: JSON Patch: Unexpected kind: x"]


async def test_an_object_that_cannot_be_decoded() -> None:
    """It is an internal error, whatever the failure policy says."""
    fault = await _fault(_patch("[JSONPatch{op: 'remove', path: '/kind'}]"), failurePolicy="Ignore")

    assert (fault.code, fault.message) == (500, "Internal error occurred: Object 'Kind' is missing")


async def test_unknown_fields() -> None:
    """A JSON patch that adds one is an internal error, whatever the failure policy says."""
    fault = await _fault(_patch("[JSONPatch{op: 'add', path: '/nothing', value: 1}]"), failurePolicy="Ignore")

    assert (fault.code, fault.message) == (500, 'Internal error occurred: strict decoding error: unknown field "nothing"')


async def test_conditions_and_parameters() -> None:
    """Conditions skip a policy; each parameter is one invocation."""
    add = _patch("[JSONPatch{op: 'add', path: '/spec/size', value: object.spec.size + int(params.data.more)}]")
    sources = Sources()
    sources.parameters = [{"metadata": {"name": name}, "data": {"more": more}} for name, more in (("a", "1"), ("b", "10"))]
    reference = {"selector": {}, "parameterNotFoundAction": "Deny"}
    small = [{"name": "small", "expression": "object.spec.size < 4"}]
    sources.entries = [
        policy(
            "p",
            {"paramRef": reference},
            {"paramRef": reference},
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
            mutations=[add],
            matchConditions=small,
        )
    ]
    attributes = write({"size": 3})
    await MutatingAdmissionPolicies(sources.all).admit(attributes)

    assert attributes.new is not None
    assert attributes.new["spec"]["size"] == 4


async def test_other_versions_are_converted_and_back() -> None:
    """The object of the write keeps its version."""
    attributes = await _admit(
        policy(mutations=[_patch("[JSONPatch{op: 'add', path: '/spec/seen', value: object.apiVersion}]")]), attributes=write(version="v2")
    )

    assert attributes.new is not None
    assert (attributes.new["apiVersion"], attributes.new["spec"]["seen"]) == ("example.com/v2", "example.com/v1")


async def test_policies_run_again() -> None:
    """After a change, only policies with IfNeeded that ran before it run again; after changes of other plug-ins all of these."""
    grow = [_patch("[JSONPatch{op: 'add', path: '/spec/size', value: object.spec.size + 1}]")]
    mark = [_patch("[JSONPatch{op: 'add', path: '/spec/marked', value: true}]")]
    sources = Sources()
    sources.entries = [
        policy("a", mutations=grow, reinvocationPolicy="IfNeeded"),
        policy("b", mutations=grow, reinvocationPolicy="Never"),
        policy("c", mutations=mark, reinvocationPolicy="IfNeeded"),
    ]
    plugin, attributes = MutatingAdmissionPolicies(sources.all), write({"size": 0})
    await plugin.admit(attributes)
    assert attributes.reinvocation.is_required
    assert attributes.new is not None
    assert attributes.new["spec"] == {"mode": "auto", "size": 2, "marked": True}

    attributes.reinvocation.runs_again = True
    await plugin.admit(attributes)
    assert attributes.new["spec"]["size"] == 3


async def test_metrics() -> None:
    """Each mutation is counted."""
    sources = Sources()
    sources.entries = [policy(mutations=[_set(1), _patch("[JSONPatch{op: 'x'}]")], failurePolicy="Ignore")]
    await MutatingAdmissionPolicies(sources.all).admit(write())

    assert {key: series.count for key, series in sources.stats.mutating_policies.items()} == {
        ("p", "p-0", "no_error"): 1,
        ("p", "p-0", "invalid_error"): 1,
    }
