"""Deletion: finalizers, preconditions and propagation."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from apiext.base.meta import time
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import StatusError
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.registry.request_context import DeleteOptions, UpdateOptions
from apiext.storage.interface import Item, Store
from tests.support.refusals import refusal
from tests.unit.resources.registry.conftest import Widgets


async def _is_gone(widgets: Widgets, name: str) -> bool:
    try:
        await widgets.get(name)
    except StatusError as error:
        return error.code == 404
    return False


async def test_deletes_without_finalizers(widgets: Widgets) -> None:
    """Delete an object without finalizers at once, and return its last state."""
    obj = await widgets.create("a")
    item, gone = await widgets.rest.delete(widgets.ctx, "a", DeleteOptions())

    assert gone
    assert await _is_gone(widgets, "a")
    assert item.object()["metadata"]["uid"] == obj["metadata"]["uid"]


async def test_marks_with_finalizers(widgets: Widgets) -> None:
    """Mark an object with finalizers once, and increase its generation once."""
    await widgets.create("a", metadata={"finalizers": ["a.b/c"]})

    marked, gone = await widgets.delete("a")
    assert not gone
    metadata = marked["metadata"]
    assert time.is_canonical(metadata["deletionTimestamp"])
    assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (0, 2)

    assert await widgets.delete("a") == (marked, False)


async def test_deletes_with_the_last_finalizer(widgets: Widgets) -> None:
    """Delete the object when an update removes its last finalizer, and return the object of the update."""
    await widgets.create("a", metadata={"finalizers": ["a.b/c"]})
    marked, _ = await widgets.delete("a")
    sent = marked | {"metadata": {name: member for name, member in marked["metadata"].items() if name != "finalizers"}}

    assert await widgets.put(sent, options=UpdateOptions(dry_run=True)) == sent
    assert not await _is_gone(widgets, "a")
    assert await widgets.put(sent) == sent
    assert await _is_gone(widgets, "a")


async def test_keeps_the_deletion_timestamp(widgets: Widgets) -> None:
    """Keep the deletion timestamp, and accept no new finalizers."""
    await widgets.create("a", metadata={"finalizers": ["a.b/c"]})
    marked, _ = await widgets.delete("a")
    kept = {"deletionTimestamp", "deletionGracePeriodSeconds"}
    sent = marked | {"metadata": {name: member for name, member in marked["metadata"].items() if name not in kept}}

    assert await widgets.put(sent) == marked
    sent["metadata"]["finalizers"] = ["a.b/c", "d.e/f"]
    with pytest.raises(StatusError, match="no new finalizers can be added if the object is being deleted"):
        await widgets.put(sent)


@pytest.mark.parametrize(
    "options, finalizers",
    [
        ({"propagation_policy": "Orphan"}, ["orphan"]),
        ({"propagation_policy": "Foreground"}, ["foregroundDeletion"]),
        ({"orphan_dependents": True}, ["orphan"]),
    ],
)
async def test_sets_finalizers_of_the_garbage_collector(widgets: Widgets, options: dict[str, Any], finalizers: list[str]) -> None:
    """Set the garbage collector's finalizer for the propagation policy."""
    await widgets.create("a")
    marked, gone = await widgets.delete("a", **options)

    assert (marked["metadata"]["finalizers"], gone) == (finalizers, False)


async def test_changes_the_propagation(widgets: Widgets) -> None:
    """Replace the finalizer with that of a later deletion; remove it for Background."""
    await widgets.create("a")
    await widgets.delete("a", propagation_policy="Foreground")

    marked, _ = await widgets.delete("a", propagation_policy="Orphan")
    assert marked["metadata"]["finalizers"] == ["orphan"]
    marked, _ = await widgets.delete("a")
    assert marked["metadata"]["finalizers"] == ["orphan"]
    _, gone = await widgets.delete("a", propagation_policy="Background")

    assert gone
    assert await _is_gone(widgets, "a")


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"propagation_policy": "Foo"},
            'propagationPolicy: Unsupported value: "Foo": supported values: "Foreground", "Background", "Orphan", "nil"',
        ),
        (
            {"propagation_policy": "Orphan", "orphan_dependents": True},
            'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
        ),
    ],
)
async def test_rejects_bad_options(widgets: Widgets, options: dict[str, Any], message: str) -> None:
    """Reject contradictory options before reading the object."""
    refused = await refusal(widgets.delete("nope", **options))

    assert refused.message == f'DeleteOptions.meta.k8s.io "" is invalid: {message}'


async def test_checks_preconditions(widgets: Widgets) -> None:
    """Answer 409 if the object is another one of the same name."""
    obj = await widgets.create("a")
    refused = await refusal(widgets.delete("a", uid="bad"))

    assert refused.code == 409
    assert refused.message == (
        'Operation cannot be fulfilled on Widget.example.com "a": the UID in the precondition (bad) does not match the UID in record '
        f"({obj['metadata']['uid']}). The object might have been deleted and then recreated"
    )
    assert (await widgets.delete("a", uid=obj["metadata"]["uid"]))[1]


async def test_returns_404_for_an_absent_object(widgets: Widgets) -> None:
    """Answer 404 for an absent object, with any preconditions."""
    missing = await refusal(widgets.delete("nope", uid="bad"))

    assert missing.message == 'widgets.example.com "nope" not found'


@pytest.mark.parametrize("finalizers", [[], ["a.b/c"]])
async def test_dry_run_changes_nothing(widgets: Widgets, finalizers: list[str]) -> None:
    """Change nothing in a dry run, with and without finalizers."""
    obj = await widgets.create("a", metadata={"finalizers": finalizers})
    _, gone = await widgets.delete("a", dry_run=True)

    assert gone is not bool(finalizers)
    assert await widgets.get("a") == obj


@pytest.mark.parametrize("finalizers", [[], ["a.b/c"]])
async def test_calls_admission(widgets: Widgets, finalizers: list[str]) -> None:
    """Call admission with the existing object, and answer with its refusal."""
    await widgets.create("a", metadata={"finalizers": finalizers})
    seen: list[Any] = []

    async def admit(operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        assert old is not None
        seen.append((operation, new, old["metadata"]["name"]))
        raise StatusError(403, "Forbidden", "keep it", {})

    with pytest.raises(StatusError, match="keep it"):
        await widgets.delete("a", admit=admit)
    assert seen == [(AdmissionOperation.DELETE, None, "a")]
    assert "deletionTimestamp" not in (await widgets.get("a"))["metadata"]


class InterferingStore:
    """A store that changes an object once, right before a deletion."""

    def __init__(self, store: Store, interfere: Callable[[], Awaitable[object]]) -> None:
        self._store = store
        self._meddle: list[Callable[[], Awaitable[object]]] = [interfere]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def delete(self, *args: Any, **options: Any) -> Item:
        """Implement Store.delete."""
        while self._meddle:
            await self._meddle.pop()()
        return await self._store.delete(*args, **options)


async def test_rejects_an_emptying_update_of_an_outdated_object(store: Store) -> None:
    """Answer 409 if the object has changed since the update that emptied its finalizers."""
    widgets = Widgets(store)
    obj = await widgets.create("a", metadata={"finalizers": ["example.com/a", "example.com/b"]})
    await widgets.delete("a")
    obj = await widgets.get("a")
    relabelled = obj | {"metadata": {**obj["metadata"], "labels": {"seen": "by-another"}}}

    async def relabel() -> object:
        return await Widgets(store).put(relabelled)

    interfered = Widgets(cast("Store", InterferingStore(store, relabel)))
    emptied = obj | {"metadata": {name: member for name, member in obj["metadata"].items() if name != "finalizers"}}

    with pytest.raises(StatusError, match="the object has been modified"):
        await interfered.put(emptied)
    assert (await widgets.get("a"))["metadata"]["finalizers"] == ["example.com/a", "example.com/b"]


async def test_keeps_a_recreated_object(store: Store) -> None:
    """Keep an object that was created again in the meantime."""
    widgets = Widgets(store)
    await widgets.create("a", metadata={"finalizers": ["example.com/a"]})
    await widgets.delete("a")
    obj = await widgets.get("a")
    emptied = obj | {"metadata": {name: member for name, member in obj["metadata"].items() if name != "finalizers"}}

    async def renew() -> object:
        await widgets.put(emptied)
        return await widgets.create("a")

    interfered = Widgets(cast("Store", InterferingStore(store, renew)))

    with pytest.raises(StatusError):
        await interfered.put(emptied)
    assert (await widgets.get("a"))["metadata"]["uid"] != obj["metadata"]["uid"]
