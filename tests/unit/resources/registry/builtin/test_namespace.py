"""Namespaces: creation, two-step deletion and subresources."""

import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.builtin.namespace import (
    NAMESPACE_KIND,
    RESOURCE,
    NamespaceFinalizeStrategy,
    NamespaceRest,
    NamespaceStatusStrategy,
)
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Preconditions
from apiext.storage.sqlite.backend import SQLiteBackend
from tests.support.refusals import refusal

CTX = RequestContext()


@pytest.fixture
async def rest(tmp_path: Path) -> AsyncIterator[NamespaceRest]:
    """Return the verbs of namespaces over a store."""
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    store = StoreFactory(backend, watch_cache=False).store(RESOURCE)
    yield NamespaceRest(store=store, codec=NAMESPACE_KIND.codec())
    await backend.close()


async def _create(rest: NamespaceRest, name: str = "", **members: Any) -> Object:
    metadata = {**({"name": name} if name else {}), **members.pop("metadata", {})}
    obj = {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata, **members}
    NAMESPACE_KIND.codec().decode_body(obj, False)
    return (await rest.create(CTX, obj, CreateOptions())).object()


async def _put(rest: NamespaceRest, obj: Object, strategy: Any = None) -> Object:
    async def replace(_existing: Object) -> Object:
        return obj

    target = dataclasses.replace(rest, strategy=strategy) if strategy else rest
    return (await target.update(CTX, obj["metadata"]["name"], replace, UpdateOptions()))[0].object()


async def test_creates_active_namespaces(rest: NamespaceRest) -> None:
    """Create a namespace in phase Active with the kubernetes finalizer and the name label."""
    obj = await _create(rest, "a", spec={"finalizers": ["x/y"]}, status={"phase": "Terminating"})

    assert obj["spec"] == {"finalizers": ["x/y", "kubernetes"]}
    assert obj["status"] == {"phase": "Active"}
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    assert "generation" not in obj["metadata"]

    generated = await _create(rest, metadata={"generateName": "n-"})
    name = generated["metadata"]["name"]
    assert generated["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


@pytest.mark.parametrize(
    "name, finalizers, message",
    [
        ("N.1", [], "metadata.name: Invalid value: "),
        ("a", ["bad"], 'spec.finalizers: Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified'),
    ],
)
async def test_rejects_invalid_names_and_finalizers(rest: NamespaceRest, name: str, finalizers: list[str], message: str) -> None:
    """Require a DNS label for the name, and standard or qualified finalizers."""
    refused = await refusal(_create(rest, name, spec={"finalizers": finalizers}))

    assert refused.message.startswith(f'Namespace "{name}" is invalid: {message}')


async def test_update_changes_metadata_only(rest: NamespaceRest) -> None:
    """Keep spec, status and the name label in an update, which needs no resourceVersion."""
    obj = await _create(rest, "a")
    sent = obj | {"spec": {}, "status": {"phase": "Terminating"}, "metadata": {"name": "a", "labels": {"x": "y"}}}

    updated = await _put(rest, sent)

    assert (updated["spec"], updated["status"]) == (obj["spec"], obj["status"])
    assert updated["metadata"]["labels"] == {"x": "y", "kubernetes.io/metadata.name": "a"}


async def test_deletes_in_two_steps(rest: NamespaceRest) -> None:
    """Set phase Terminating in the first deletion, and delete with the last finalizer."""
    await _create(rest, "a")
    item, gone = await rest.delete(CTX, "a", DeleteOptions())
    obj = item.object()
    assert (obj["status"]["phase"], gone) == ("Terminating", False)
    assert "deletionTimestamp" in obj["metadata"]
    assert (await rest.delete(CTX, "a", DeleteOptions()))[0].object() == obj

    final = await _put(rest, obj | {"spec": {}}, NamespaceFinalizeStrategy())
    assert final["spec"] == {}
    missing = await refusal(rest.get(CTX, "a"))
    assert missing.message == 'namespaces "a" not found'


async def test_deletes_after_finalization(rest: NamespaceRest) -> None:
    """Delete a namespace that was finalized before its deletion in the second deletion."""
    obj = await _create(rest, "a")
    await _put(rest, obj | {"spec": {}}, NamespaceFinalizeStrategy())

    assert not (await rest.delete(CTX, "a", DeleteOptions()))[1]
    assert (await rest.delete(CTX, "a", DeleteOptions()))[1]


async def test_checks_preconditions(rest: NamespaceRest) -> None:
    """Check preconditions with the messages of the reference's namespace storage."""
    obj = await _create(rest, "a")
    refused = await refusal(rest.delete(CTX, "a", DeleteOptions(preconditions=Preconditions(uid="bad"))))

    assert refused.message == (
        'Operation cannot be fulfilled on namespaces "a": '
        f"Precondition failed: UID in precondition: bad, UID in object meta: {obj['metadata']['uid']}"
    )


async def test_validates_the_phase(rest: NamespaceRest) -> None:
    """Require the phase that matches the deletion timestamp."""
    obj = await _create(rest, "a")
    refused = await refusal(_put(rest, obj | {"status": {"phase": "Terminating"}}, NamespaceStatusStrategy()))
    assert refused.message == (
        'Namespace "a" is invalid: status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty'
    )

    status = {"phase": "Active", "conditions": [{"type": "X", "status": "True"}]}
    updated = await _put(rest, obj | {"status": status, "spec": {}}, NamespaceStatusStrategy())
    assert updated["status"]["conditions"] == [{"type": "X", "status": "True", "lastTransitionTime": None}]
    assert updated["spec"] == obj["spec"]


async def test_validates_finalizers_in_metadata(rest: NamespaceRest) -> None:
    """Require standard or qualified names of finalizers in metadata, and report each error once."""
    obj = await _create(rest, "a")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    metadata = obj["metadata"] | {"finalizers": ["orphan", "x"], "ownerReferences": [owner, owner, owner]}
    refused = await refusal(_put(rest, obj | {"metadata": metadata}))

    assert [cause["field"] for cause in (refused.details or {})["causes"]] == ["metadata.ownerReferences", "metadata.finalizers[1]"]


def test_defaults_the_phase() -> None:
    """Apply the default phase when decoding."""
    obj: Object = {"metadata": {"name": "a"}, "status": {}}
    NAMESPACE_KIND.codec().decode_body(obj, False)

    assert obj["status"] == {"phase": "Active"}


def test_resets_managed_fields_by_an_empty_list() -> None:
    """Distinguish an empty managedFields list from none, as Go does."""
    obj: Object = {"metadata": {"name": "a", "managedFields": []}}
    NAMESPACE_KIND.codec().decode_body(obj, False)

    assert obj["metadata"]["managedFields"] == [{}]


def test_decodes_bodies_as_go() -> None:
    """Reject wrong types with Go's message, and report unknown fields."""
    codec = NAMESPACE_KIND.codec()
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        codec.decode_body({"kind": "Namespace", "metadata": {"labels": {"a": 1}}}, False)
    assert str(refused.value) == "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
    assert codec.decode_body({"metadata": {}, "foo": 1, "spec": {"bar": 1}}, True) == [
        'unknown field "foo"',
        'unknown field "spec.bar"',
    ]


def test_returns_selectable_fields() -> None:
    """Return name and phase under the reference's names."""
    obj: Object = {"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Active"}}

    assert NAMESPACE_KIND.codec().fields(obj) == {"metadata.name": "a", "name": "a", "status.phase": "Active"}
