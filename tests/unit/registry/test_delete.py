"""Deleting waits for finalizers, minds preconditions, and sets the garbage collector's finalizers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from apiext.meta import time
from apiext.meta.errors import StatusError
from apiext.meta.json_codec import Object
from apiext.registry.request_context import DeleteOptions, Operation, UpdateOptions
from apiext.storage.direct_store import DirectStore
from apiext.storage.interface import Item
from tests.unit.registry.conftest import Widgets


async def _is_gone(widgets: Widgets, name: str) -> bool:
    try:
        await widgets.get(name)
    except StatusError as error:
        return error.code == 404
    return False


async def test_without_finalizers(widgets: Widgets) -> None:
    """The object goes at once, and is told as it was last."""
    obj = await widgets.create("a")
    item, gone = await widgets.rest.delete(widgets.ctx, "a", DeleteOptions())

    assert gone
    assert await _is_gone(widgets, "a")
    assert item.object()["metadata"]["uid"] == obj["metadata"]["uid"]


async def test_with_finalizers(widgets: Widgets) -> None:
    """The object is marked, once; its generation goes up, once."""
    await widgets.create("a", metadata={"finalizers": ["a.b/c"]})

    marked, gone = await widgets.delete("a")
    assert not gone
    metadata = marked["metadata"]
    assert time.is_canonical(metadata["deletionTimestamp"])
    assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (0, 2)

    assert await widgets.delete("a") == (marked, False)


async def test_last_finalizer_removed(widgets: Widgets) -> None:
    """The update that takes the last finalizer deletes the object, and is answered with what was sent."""
    await widgets.create("a", metadata={"finalizers": ["a.b/c"]})
    marked, _ = await widgets.delete("a")
    sent = marked | {"metadata": {name: member for name, member in marked["metadata"].items() if name != "finalizers"}}

    assert await widgets.put(sent, options=UpdateOptions(dry_run=True)) == sent
    assert not await _is_gone(widgets, "a")
    assert await widgets.put(sent) == sent
    assert await _is_gone(widgets, "a")


async def test_deletion_cannot_be_taken_back(widgets: Widgets) -> None:
    """The marks stay, and no finalizers are added any more."""
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
async def test_propagation(widgets: Widgets, options: dict[str, Any], finalizers: list[str]) -> None:
    """What is to happen to dependents is left to the garbage collector's finalizers."""
    await widgets.create("a")
    marked, gone = await widgets.delete("a", **options)

    assert (marked["metadata"]["finalizers"], gone) == (finalizers, False)


async def test_propagation_can_be_changed(widgets: Widgets) -> None:
    """A later deletion replaces the finalizer, and one in the background does without."""
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
async def test_bad_options(widgets: Widgets, options: dict[str, Any], message: str) -> None:
    """Options that make no sense are refused before anything is looked at."""
    with pytest.raises(StatusError) as refused:
        await widgets.delete("nope", **options)

    assert refused.value.message == f'DeleteOptions.meta.k8s.io "" is invalid: {message}'


async def test_preconditions(widgets: Widgets) -> None:
    """Another object of the same name is not deleted."""
    obj = await widgets.create("a")
    with pytest.raises(StatusError) as refused:
        await widgets.delete("a", uid="bad")

    assert refused.value.code == 409
    assert refused.value.message == (
        'Operation cannot be fulfilled on Widget.example.com "a": the UID in the precondition (bad) does not match the UID in record '
        f"({obj['metadata']['uid']}). The object might have been deleted and then recreated"
    )
    assert (await widgets.delete("a", uid=obj["metadata"]["uid"]))[1]


async def test_absent(widgets: Widgets) -> None:
    """What is not there is not found, whatever the preconditions."""
    with pytest.raises(StatusError) as missing:
        await widgets.delete("nope", uid="bad")

    assert missing.value.message == 'widgets.example.com "nope" not found'


@pytest.mark.parametrize("finalizers", [[], ["a.b/c"]])
async def test_dry_run(widgets: Widgets, finalizers: list[str]) -> None:
    """Nothing changes, with finalizers or without."""
    obj = await widgets.create("a", metadata={"finalizers": finalizers})
    _, gone = await widgets.delete("a", dry_run=True)

    assert gone is not bool(finalizers)
    assert await widgets.get("a") == obj


@pytest.mark.parametrize("finalizers", [[], ["a.b/c"]])
async def test_admission(widgets: Widgets, finalizers: list[str]) -> None:
    """Admission is asked about the object as it is, and may keep it."""
    await widgets.create("a", metadata={"finalizers": finalizers})
    seen: list[Any] = []

    async def admit(operation: Operation, new: Object | None, old: Object | None) -> None:
        assert old is not None
        seen.append((operation, new, old["metadata"]["name"]))
        raise StatusError(403, "Forbidden", "keep it", {})

    with pytest.raises(StatusError, match="keep it"):
        await widgets.delete("a", admit=admit)
    assert seen == [(Operation.DELETE, None, "a")]
    assert "deletionTimestamp" not in (await widgets.get("a"))["metadata"]


class Meddling:
    """A store in which somebody else does something right before a deletion, once."""

    def __init__(self, store: DirectStore, meddle: Callable[[], Awaitable[object]]) -> None:
        self._store = store
        self._meddle: list[Callable[[], Awaitable[object]]] = [meddle]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def delete(self, *args: Any, **options: Any) -> Item:
        """As the store does it."""
        while self._meddle:
            await self._meddle.pop()()
        return await self._store.delete(*args, **options)


async def test_the_last_finalizer_goes_with_the_state_it_was_taken_from(store: DirectStore) -> None:
    """An update that empties the finalizers does not delete what somebody else has changed meanwhile: it is told of the conflict."""
    widgets = Widgets(store)
    obj = await widgets.create("a", metadata={"finalizers": ["example.com/a", "example.com/b"]})
    await widgets.delete("a")
    obj = await widgets.get("a")
    relabelled = obj | {"metadata": {**obj["metadata"], "labels": {"seen": "by-another"}}}

    async def relabel() -> object:
        return await Widgets(store).put(relabelled)

    meddled = Widgets(cast("DirectStore", Meddling(store, relabel)))
    emptied = obj | {"metadata": {name: member for name, member in obj["metadata"].items() if name != "finalizers"}}

    with pytest.raises(StatusError, match="the object has been modified"):
        await meddled.put(emptied)
    assert (await widgets.get("a"))["metadata"]["finalizers"] == ["example.com/a", "example.com/b"]


async def test_the_last_finalizer_does_not_take_a_namesake(store: DirectStore) -> None:
    """An object that was made anew in the meantime stays."""
    widgets = Widgets(store)
    await widgets.create("a", metadata={"finalizers": ["example.com/a"]})
    await widgets.delete("a")
    obj = await widgets.get("a")
    emptied = obj | {"metadata": {name: member for name, member in obj["metadata"].items() if name != "finalizers"}}

    async def renew() -> object:
        await widgets.put(emptied)
        return await widgets.create("a")

    meddled = Widgets(cast("DirectStore", Meddling(store, renew)))

    with pytest.raises(StatusError):
        await meddled.put(emptied)
    assert (await widgets.get("a"))["metadata"]["uid"] != obj["metadata"]["uid"]
