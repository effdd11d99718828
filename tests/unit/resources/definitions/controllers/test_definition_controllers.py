"""Controllers of definitions."""

from typing import Any

import pytest

from apiext.base.meta.errors import StatusError
from apiext.base.webhook.hook_answers import HookError
from apiext.resources.definitions import conditions
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.conditions import CLEANUP_FINALIZER, Condition
from apiext.resources.definitions.controllers import definition_controllers as finalizer
from apiext.resources.definitions.definition import Definition
from apiext.resources.registry.customresourcedefinition import CustomResourceDefinitionStatusStrategy
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions
from apiext.storage.backend import UnavailableError
from apiext.storage.interface import Preconditions, Store
from tests.unit.resources.definitions.conftest import ControlledDefinitions
from tests.unit.resources.definitions.recorded import body, decoded

FOOS = "foos.example.com"
BY_WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"url": "https://127.0.0.1/"}, "conversionReviewVersions": ["v1"]},
}


def _reason(definition: Definition | None, condition_type: str) -> str:
    condition = definition.condition(condition_type) if definition is not None else None
    return condition["reason"] if condition is not None else ""


async def test_establishes_in_one_write(controlled: ControlledDefinitions) -> None:
    """Write all conditions and the accepted names in one update after the creation."""
    created = await controlled.create()

    definition = await controlled.established(FOOS)

    assert created.object()["status"]["conditions"] is None
    assert definition.revision == created.revision + 1
    assert definition.names.kind == "Foo"
    assert [condition["type"] for condition in definition.head["status"]["conditions"]] == ["NamesAccepted", "Established"]
    assert controlled.catalog.lookup("example.com", "foos") is definition


async def test_update_is_visible_when_it_returns(controlled: ControlledDefinitions) -> None:
    """Show an update in the catalog when the request returns."""
    await controlled.serve()

    await controlled.update(FOOS, lambda crd: crd["spec"]["versions"][0].update(deprecated=True))

    definition = controlled.catalog.get(FOOS)
    assert definition is not None
    assert definition.versions[0].deprecated
    assert definition.head["metadata"]["generation"] == 2


async def test_accepts_a_name_when_it_becomes_free(controlled: ControlledDefinitions) -> None:
    """Accept a name in conflict when the definition that has it is deleted."""
    await controlled.create("foos", "Foo", shortNames=["f"])
    await controlled.established(FOOS)
    await controlled.create("bars", "Foo", shortNames=["f"])
    refused = await controlled.until("bars.example.com", lambda found: bool(_reason(found, "NamesAccepted")))
    assert refused is not None
    assert controlled.catalog.lookup("example.com", "bars") is None

    await controlled.delete(FOOS)
    accepted = await controlled.established("bars.example.com")

    assert _reason(refused, "NamesAccepted") == "ListKindConflict"
    assert _reason(refused, "Established") == "NotAccepted"
    assert accepted.names.short_names == ("f",)


async def test_deletes_instances_before_the_definition(controlled: ControlledDefinitions) -> None:
    """Mark a deleted definition, delete its instances, then remove it."""
    await controlled.serve()

    item, gone = await controlled.delete(FOOS)
    await controlled.gone(FOOS)

    crd = item.object()
    assert not gone
    assert crd["metadata"]["finalizers"] == [CLEANUP_FINALIZER]
    assert (conditions.find(crd, "Terminating") or {})["reason"] == "InstanceDeletionPending"
    assert controlled.deleting == [FOOS]
    assert controlled.catalog.lookup("example.com", "foos") is None
    with pytest.raises(StatusError, match="not found"):
        await controlled.rest.get(controlled.ctx, FOOS)


async def test_waits_for_remaining_instances(controlled: ControlledDefinitions) -> None:
    """Serve a terminating definition while finalizers keep instances, and report the deletion in its condition."""
    await controlled.serve()
    controlled.instances[FOOS] = 1

    await controlled.delete(FOOS)
    definition = await controlled.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionInProgress")
    served = controlled.catalog.lookup("example.com", "foos")
    controlled.instances[FOOS] = 0
    await controlled.gone(FOOS)

    assert definition is not None
    assert definition.is_terminating
    assert served is not None
    assert controlled.deleting == [FOOS]


@pytest.mark.parametrize(
    "failing, reason, message",
    [
        ("unlistable", "InstanceDeletionFailed", "could not list instances: no list"),
        ("undeletable", "InstanceDeletionFailed", "could not issue all deletes: no deletion"),
    ],
)
async def test_reports_failed_deletion_of_instances(controlled: ControlledDefinitions, failing: str, reason: str, message: str) -> None:
    """Report a failure to delete instances in the condition, and retry until it succeeds."""
    await controlled.serve()
    getattr(controlled, failing).add(FOOS)

    await controlled.delete(FOOS)
    definition = await controlled.until(FOOS, lambda found: _reason(found, "Terminating") == reason)
    await controlled.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionInProgress")
    getattr(controlled, failing).clear()
    await controlled.gone(FOOS)

    assert definition is not None
    assert (definition.condition("Terminating") or {})["message"] == message


async def test_reports_remaining_instances(controlled: ControlledDefinitions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report instances that remain after the timeout in the condition, and retry."""
    monkeypatch.setattr(finalizer, "TIMEOUT_SECONDS", 0.0)
    await controlled.serve()
    controlled.instances[FOOS] = 1

    await controlled.delete(FOOS)
    definition = await controlled.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionCheck")
    await controlled.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionInProgress")
    controlled.instances[FOOS] = 0
    await controlled.gone(FOOS)

    assert definition is not None
    message = "could not confirm zero CustomResources remaining: context deadline exceeded"
    assert (definition.condition("Terminating") or {})["message"] == message


async def test_other_finalizers_keep_the_definition(controlled: ControlledDefinitions) -> None:
    """Remove the cleanup finalizer when no instance is left, and the definition with its last finalizer."""
    await controlled.serve()
    await controlled.update(FOOS, lambda crd: crd["metadata"].update(finalizers=["example.com/mine"]))

    await controlled.delete(FOOS)
    definition = await controlled.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionCompleted")
    await controlled.update(FOOS, lambda crd: crd["metadata"].pop("finalizers"))
    await controlled.gone(FOOS)

    assert definition is not None
    assert definition.head["metadata"]["finalizers"] == ["example.com/mine"]


async def test_does_not_delete_instances_of_an_unestablished_definition(controlled: ControlledDefinitions) -> None:
    """Delete no instances for a definition that was never established."""
    await controlled.create("foos", "Foo")
    await controlled.established(FOOS)
    await controlled.create("bars", "Foo")
    await controlled.until("bars.example.com", lambda found: bool(_reason(found, "NamesAccepted")))

    await controlled.delete("bars.example.com")
    await controlled.gone("bars.example.com")

    assert controlled.deleting == []


async def test_continues_a_deletion_after_a_restart(store: Store) -> None:
    """Continue a deletion that another process began; the catalog is complete after the start."""
    first = ControlledDefinitions(store)
    await first.start()
    await first.create()
    await first.established(FOOS)
    first.instances[FOOS] = 1
    await first.delete(FOOS)
    await first.until(FOOS, lambda found: _reason(found, "Terminating") == "InstanceDeletionInProgress")
    await first.close()

    second = ControlledDefinitions(store)
    await second.start()
    known = second.catalog.lookup("example.com", "foos")
    await second.gone(FOOS)
    await second.close()

    assert known is not None
    assert second.deleting == [FOOS]


async def test_observes_changes_of_other_processes(controlled: ControlledDefinitions, store: Store) -> None:
    """Establish a definition that another process writes, and observe its removal."""
    other = ControlledDefinitions(store)
    await other.rest.create(other.ctx, decoded(body()), CreateOptions())

    await controlled.established(FOOS)
    await other.delete(FOOS)

    await controlled.gone(FOOS)


async def test_dry_run_does_not_change_the_catalog(controlled: ControlledDefinitions) -> None:
    """Keep the catalog unchanged in dry runs of creation and deletion."""
    await controlled.rest.create(controlled.ctx, decoded(body()), CreateOptions(dry_run=True))
    before = controlled.catalog.get(FOOS)
    await controlled.serve()

    item, gone = await controlled.rest.delete(controlled.ctx, FOOS, DeleteOptions(dry_run=True))

    definition = controlled.catalog.get(FOOS)
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
async def test_checks_preconditions_of_a_deletion(controlled: ControlledDefinitions, wanted: Preconditions, message: str) -> None:
    """Reject a deletion with a wrong uid or resourceVersion before the definition is marked."""
    await controlled.create()

    with pytest.raises(StatusError, match=message):
        await controlled.rest.delete(controlled.ctx, FOOS, DeleteOptions(preconditions=wanted))


async def test_records_stored_versions(controlled: ControlledDefinitions) -> None:
    """Add each storage version to status.storedVersions; an update of the spec removes none."""
    await controlled.serve()
    schema = {"openAPIV3Schema": {"type": "object"}}

    def switch(crd: dict[str, object]) -> None:
        versions = [("v1", False), ("v2", True)]
        spec = crd["spec"]
        assert isinstance(spec, dict)
        spec["versions"] = [{"name": name, "served": True, "storage": storage, "schema": schema} for name, storage in versions]

    item = await controlled.update(FOOS, switch)

    assert item.object()["status"]["storedVersions"] == ["v1", "v2"]


async def test_retries_status_updates_that_fail(controlled: ControlledDefinitions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry a status update until the store is available again."""
    update, failures = controlled.store.guaranteed_update, [UnavailableError("away")] * 3

    async def fail_once(*args: Any, **options: Any) -> Any:
        if failures:
            raise failures.pop()
        return await update(*args, **options)

    monkeypatch.setattr(controlled.store, "guaranteed_update", fail_once)
    await controlled.create()

    assert (await controlled.established(FOOS)).names.kind == "Foo"


async def test_informer_survives_unexpected_exceptions(controlled: ControlledDefinitions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Continue to watch after an unexpected exception."""
    surprises = [RuntimeError("unexpected")]

    class Surprising(Catalog):
        __slots__ = ()

        def put(self, definition: Definition) -> bool:
            if surprises:
                raise surprises.pop()
            return super().put(definition)

    monkeypatch.setattr(controlled.catalog, "__class__", Surprising)
    other = ControlledDefinitions(controlled.store)
    await other.rest.create(other.ctx, decoded(body()), CreateOptions())

    assert (await controlled.established(FOOS)).names.kind == "Foo"
    assert not surprises


class FakeHook:
    """A webhook that can be dead."""

    def __init__(self, *, dead: bool = False) -> None:
        self.dead = dead

    async def post(self, body: bytes) -> bytes:
        """Implement Hook.post."""
        if self.dead:
            raise HookError("connect: connection refused")
        return body


async def test_reports_a_conversion_webhook_that_does_not_answer(controlled: ControlledDefinitions) -> None:
    """Set a condition when the circuit of a webhook opens, and again when it closes; remove it with the webhook."""
    await controlled.create()
    definition = await controlled.established(FOOS)
    await controlled.update(FOOS, lambda crd: crd["spec"].update(conversion=BY_WEBHOOK))
    hook = FakeHook(dead=True)
    guarded = controlled.circuits.guard(FOOS, BY_WEBHOOK, hook)
    for _ in range(3):
        with pytest.raises(HookError):
            await guarded.post(b"")
    failing = await controlled.until(FOOS, lambda found: _reason(found, conditions.CONVERSION_WEBHOOK_AVAILABLE) == "CallsFailed")
    assert failing is not None
    assert (failing.condition(conditions.CONVERSION_WEBHOOK_AVAILABLE) or {})["message"] == "connect: connection refused"
    hook.dead = False
    controlled.now += 1.0
    await guarded.post(b"")
    await controlled.until(FOOS, lambda found: _reason(found, conditions.CONVERSION_WEBHOOK_AVAILABLE) == "CallsSucceeded")
    await controlled.update(FOOS, lambda crd: crd["spec"].update(conversion={"strategy": "None"}))
    await controlled.until(FOOS, lambda found: _reason(found, conditions.CONVERSION_WEBHOOK_AVAILABLE) == "")

    assert not list(controlled.circuits)
    assert definition.condition(conditions.CONVERSION_WEBHOOK_AVAILABLE) is None


async def test_a_webhook_that_always_answers_has_no_condition(controlled: ControlledDefinitions) -> None:
    """Write nothing for a webhook that has never failed; correct what an earlier process has left."""
    await controlled.serve()
    updated = await controlled.update(FOOS, lambda crd: crd["spec"].update(conversion=BY_WEBHOOK))
    await controlled.circuits.guard(FOOS, BY_WEBHOOK, FakeHook()).post(b"")
    await controlled.create("bars", "Bar")
    await controlled.established("bars.example.com")
    found = controlled.catalog.get(FOOS)

    assert found is not None
    assert found.revision == updated.revision


async def test_corrects_the_condition_of_a_server_that_is_gone(controlled: ControlledDefinitions) -> None:
    """Report a webhook that answers this server, after another one has found it silent and is gone."""
    await controlled.serve()
    await controlled.update(FOOS, lambda crd: crd["spec"].update(conversion=BY_WEBHOOK))
    guarded = controlled.circuits.guard(FOOS, BY_WEBHOOK, FakeHook())
    await guarded.post(b"")
    silent = Condition(conditions.CONVERSION_WEBHOOK_AVAILABLE, "False", "CallsFailed", "connection refused")
    controlled.rest.strategy = CustomResourceDefinitionStatusStrategy()
    await controlled.update(FOOS, lambda crd: conditions.put(crd, silent))
    await controlled.until(FOOS, lambda found: _reason(found, conditions.CONVERSION_WEBHOOK_AVAILABLE) == "CallsFailed")
    await guarded.post(b"")

    await controlled.until(FOOS, lambda found: _reason(found, conditions.CONVERSION_WEBHOOK_AVAILABLE) == "CallsSucceeded")
