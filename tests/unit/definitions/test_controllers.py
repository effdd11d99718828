"""What happens to definitions by itself."""

import asyncio
from typing import Any

import pytest

from apiext.definitions import conditions, finalizer, workqueue
from apiext.definitions.catalog import Catalog
from apiext.definitions.conditions import CLEANUP_FINALIZER
from apiext.definitions.definition import Definition
from apiext.meta.errors import StatusError
from apiext.registry.customresourcedefinition import apply
from apiext.registry.request_context import CreateOptions, DeleteOptions
from apiext.storage.backend import UnavailableError
from apiext.storage.interface import Preconditions, Store
from tests.unit.definitions.conftest import House
from tests.unit.definitions.recorded import body, decoded

FOOS = "foos.example.com"


def _reason(definition: Definition | None, condition_type: str) -> str:
    condition = definition.condition(condition_type) if definition is not None else None
    return condition["reason"] if condition is not None else ""


async def test_a_new_definition_is_established_in_one_write(house: House) -> None:
    """The status that a client sees after the creation has all conditions and the accepted names."""
    created = await house.create()

    definition = await house.established(FOOS)

    assert created.object()["status"]["conditions"] is None
    assert definition.revision == created.revision + 1
    assert definition.names.kind == "Foo"
    assert [condition["type"] for condition in definition.head["status"]["conditions"]] == ["NamesAccepted", "Established"]
    assert house.catalog.lookup("example.com", "foos") is definition


async def test_a_change_is_in_the_catalogue_when_the_update_returns(house: House) -> None:
    """The next request finds the definition as the last one left it."""
    await house.create()
    await house.established(FOOS)

    await house.update(FOOS, lambda crd: crd["spec"]["versions"][0].update(deprecated=True))

    definition = house.catalog.get(FOOS)
    assert definition is not None
    assert definition.versions[0].deprecated
    assert definition.head["metadata"]["generation"] == 2


async def test_a_conflict_is_solved_when_the_name_is_free(house: House) -> None:
    """A definition waits for a name that another one has, and gets it when that one is deleted."""
    await house.create("foos", "Foo", shortNames=["f"])
    await house.established(FOOS)
    await house.create("bars", "Foo", shortNames=["f"])
    refused = await house.until("bars.example.com", lambda found: bool(_reason(found, "NamesAccepted")))
    assert refused is not None
    assert house.catalog.lookup("example.com", "bars") is None

    await house.delete(FOOS)
    accepted = await house.established("bars.example.com")

    assert _reason(refused, "NamesAccepted") == "ListKindConflict"
    assert _reason(refused, "Established") == "NotAccepted"
    assert accepted.names.short_names == ("f",)


async def test_a_deleted_definition_goes_with_its_instances(house: House) -> None:
    """Deletion marks the definition, deletes its instances, and takes it away when none is left."""
    await house.create()
    await house.established(FOOS)

    item, gone = await house.delete(FOOS)
    await house.gone(FOOS)

    crd = item.object()
    assert not gone
    assert crd["metadata"]["finalizers"] == [CLEANUP_FINALIZER]
    assert (conditions.find(crd, "Terminating") or {})["reason"] == "InstanceDeletionPending"
    assert house.deleting == [FOOS]
    assert house.catalog.lookup("example.com", "foos") is None
    with pytest.raises(StatusError, match="not found"):
        await house.rest.get(house.ctx, FOOS)


async def test_a_definition_waits_for_instances_that_do_not_go(house: House) -> None:
    """While instances are held by finalizers the definition is still served, and tells what it is doing."""
    await house.create()
    await house.established(FOOS)
    house.instances[FOOS] = 1

    await house.delete(FOOS)
    definition = await house.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionInProgress")
    served = house.catalog.lookup("example.com", "foos")
    house.instances[FOOS] = 0
    await house.gone(FOOS)

    assert definition is not None
    assert definition.is_terminating
    assert served is not None
    assert house.deleting == [FOOS]


@pytest.mark.parametrize(
    "trouble, reason, message",
    [
        ("broken", "InstanceDeletionFailed", "could not list instances: no list"),
        ("stubborn", "InstanceDeletionFailed", "could not issue all deletes: no deletion"),
    ],
)
async def test_trouble_with_instances_is_told(house: House, trouble: str, reason: str, message: str) -> None:
    """The condition says what is wrong, the deletion begins anew, and goes on when it is over."""
    await house.create()
    await house.established(FOOS)
    getattr(house, trouble).add(FOOS)

    await house.delete(FOOS)
    definition = await house.until(FOOS, lambda found: _reason(found, "Terminating") == reason)
    await house.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionInProgress")
    getattr(house, trouble).clear()
    await house.gone(FOOS)

    assert definition is not None
    assert (definition.condition("Terminating") or {})["message"] == message


async def test_instances_that_stay_are_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the condition says that they do not go; then the deletion begins anew."""
    monkeypatch.setattr(finalizer, "_PATIENCE", 0.0)
    await house.create()
    await house.established(FOOS)
    house.instances[FOOS] = 1

    await house.delete(FOOS)
    definition = await house.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionCheck")
    await house.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionInProgress")
    house.instances[FOOS] = 0
    await house.gone(FOOS)

    assert definition is not None
    message = "could not confirm zero CustomResources remaining: context deadline exceeded"
    assert (definition.condition("Terminating") or {})["message"] == message


async def test_another_finalizer_keeps_a_definition_without_instances(house: House) -> None:
    """The cleanup finalizer goes when the instances are gone, and the definition with its last finalizer."""
    await house.create()
    await house.established(FOOS)
    await house.update(FOOS, lambda crd: crd["metadata"].update(finalizers=["example.com/mine"]))

    await house.delete(FOOS)
    definition = await house.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionCompleted")
    await house.update(FOOS, lambda crd: crd["metadata"].pop("finalizers"))
    await house.gone(FOOS)

    assert definition is not None
    assert definition.head["metadata"]["finalizers"] == ["example.com/mine"]


async def test_a_definition_that_was_never_established_has_no_instances(house: House) -> None:
    """Nothing is deleted for a definition that has never been served."""
    await house.create("foos", "Foo")
    await house.established(FOOS)
    await house.create("bars", "Foo")
    await house.until("bars.example.com", lambda found: bool(_reason(found, "NamesAccepted")))

    await house.delete("bars.example.com")
    await house.gone("bars.example.com")

    assert house.deleting == []


async def test_a_deletion_goes_on_after_a_restart(store: Store) -> None:
    """What one process began to delete, the next one finishes; it knows everything as soon as it has started."""
    first = House(store)
    await first.controllers.start()
    await first.create()
    await first.established(FOOS)
    first.instances[FOOS] = 1
    await first.delete(FOOS)
    await first.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionInProgress")
    await first.controllers.close()

    second = House(store)
    await second.controllers.start()
    known = second.catalog.lookup("example.com", "foos")
    await second.gone(FOOS)
    await second.controllers.close()

    assert known is not None
    assert second.deleting == [FOOS]


async def test_changes_by_others_are_seen(house: House, store: Store) -> None:
    """A definition that another process writes is established, and its removal noticed."""
    other = House(store)
    await other.rest.create(other.ctx, decoded(body()), CreateOptions())

    await house.established(FOOS)
    await other.delete(FOOS)

    await house.gone(FOOS)


async def test_a_dry_run_changes_nothing(house: House) -> None:
    """Dry runs of creation and deletion are answered, and leave the catalogue alone."""
    await house.rest.create(house.ctx, decoded(body()), CreateOptions(dry_run=True))
    before = house.catalog.get(FOOS)
    await house.create()
    await house.established(FOOS)

    item, gone = await house.rest.delete(house.ctx, FOOS, DeleteOptions(dry_run=True))

    definition = house.catalog.get(FOOS)
    assert before is None
    assert not gone
    assert "deletionTimestamp" in item.object()["metadata"]
    assert definition is not None
    assert not definition.is_terminating


@pytest.mark.parametrize(
    "wanted,message",
    [
        (Preconditions(uid="other"), "precondition failed: UID in precondition: other, UID in object meta: "),
        (Preconditions(resource_version="9"), "precondition failed: ResourceVersion in precondition: 9, ResourceVersion in object meta: "),
    ],
)
async def test_preconditions_of_a_deletion(house: House, wanted: Preconditions, message: str) -> None:
    """A deletion of another object than meant is refused before anything is marked."""
    await house.create()

    with pytest.raises(StatusError, match=message):
        await house.rest.delete(house.ctx, FOOS, DeleteOptions(preconditions=wanted))


async def test_a_new_storage_version_is_remembered(house: House) -> None:
    """Versions that objects may be stored in are added to the status, and never taken from it by a change of the spec."""
    await house.create()
    await house.established(FOOS)
    schema = {"openAPIV3Schema": {"type": "object"}}

    def switch(crd: dict[str, object]) -> None:
        versions = [("v1", False), ("v2", True)]
        spec = crd["spec"]
        assert isinstance(spec, dict)
        spec["versions"] = [{"name": name, "served": True, "storage": storage, "schema": schema} for name, storage in versions]

    item = await house.update(FOOS, switch)

    assert item.object()["status"]["storedVersions"] == ["v1", "v2"]


async def test_applying_a_definition(house: House) -> None:
    """It is created, changed where it differs, and not written when it says nothing new."""
    crd = body()
    crd["metadata"]["labels"] = {"a": "b"}
    await apply(house.rest, house.ctx, decoded(crd))
    await house.established(FOOS)
    await house.update(FOOS, lambda existing: existing["metadata"]["labels"].update(mine="too"))
    before = house.catalog.get(FOOS)

    again = await apply(house.rest, house.ctx, decoded(crd))
    crd["spec"]["names"]["shortNames"] = ["f"]
    changed = await apply(house.rest, house.ctx, decoded(crd))

    assert before is not None
    assert again.revision == before.revision
    assert changed.revision > again.revision
    assert changed.object()["metadata"]["labels"] == {"a": "b", "mine": "too"}


async def test_a_store_that_stays_away_for_long(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the status could not be written, the work goes on when the store is back."""
    monkeypatch.setattr(workqueue, "_FIRST_PAUSE", 0.0)
    update, failures = house.store.guaranteed_update, [UnavailableError("away")] * 200

    async def fail_once(*args: Any, **options: Any) -> Any:
        if failures:
            raise failures.pop()
        return await update(*args, **options)

    monkeypatch.setattr(house.store, "guaranteed_update", fail_once)
    await house.create()

    assert (await house.established(FOOS)).names.kind == "Foo"


async def test_following_goes_on_whatever_happens(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """One change that nobody foresaw does not end the following of all others."""
    surprises = [RuntimeError("nobody foresaw this")]

    class Surprising(Catalog):
        __slots__ = ()

        def put(self, definition: Definition) -> bool:
            if surprises:
                raise surprises.pop()
            return super().put(definition)

    monkeypatch.setattr(house.catalog, "__class__", Surprising)
    other = House(house.store)
    await other.rest.create(other.ctx, decoded(body()), CreateOptions())

    assert (await house.established(FOOS)).names.kind == "Foo"
    assert not surprises


async def test_two_servers_apply_one_folder(store: Store) -> None:
    """Who comes second when both create a definition changes it instead: neither is refused."""
    first, second = House(store), House(store)
    both = await asyncio.gather(*(apply(house.rest, house.ctx, decoded(body())) for house in (first, second)))

    assert len({item.object()["metadata"]["uid"] for item in both}) == 1
