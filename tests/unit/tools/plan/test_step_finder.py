"""The steps from one definition to another."""

import json
from typing import Any

import pytest

from apiext.resources.definitions.definition import Definition
from apiext.tools.plan.plan import Need, StepKind
from apiext.tools.plan.step_finder import FoundSteps, StoredFacts, find_steps
from tests.support.builders.plans import WEBHOOK, created, shaped

K = StepKind
ONE = created(shaped("v1", "a", "host", storage=True))
BOTH = created(shaped("v1", "a", "host"), shaped("v2", "a", storage=True), stored=["v1", "v2"])
TWO = created(shaped("v2", "a", storage=True))


def _kinds(found: FoundSteps, *needs: Need) -> list[StepKind]:
    return [step.kind for step in found.steps if not needs or step.need in needs]


def _find(old: Definition | None, new: Definition, **facts: Any) -> FoundSteps:
    return find_steps(old, new, StoredFacts(**facts))


def test_creates_a_definition() -> None:
    """Create a definition that does not exist."""
    found = _find(None, ONE)

    assert _kinds(found) == [K.APPLY]
    assert found.steps[0].commands == ("kubectl create -f FILE",)
    assert found.after is ONE


def test_adds_a_version_at_once() -> None:
    """Apply a definition with a new storage version at once. A migration is for a later release."""
    found = _find(ONE, created(shaped("v1", "a", "host"), shaped("v2", "a", "host", storage=True)))

    assert _kinds(found, Need.REQUIRED) == [K.APPLY]
    assert _kinds(found, Need.LATER) == [K.MIGRATE, K.PRUNE]
    assert [step.stored_versions for step in found.steps] == [("v1", "v2"), ("v1", "v2"), ("v2",)]
    assert found.refusals == ()
    assert found.stored_finally == ("v2",)


def test_drops_a_version_that_stored_versions_name() -> None:
    """Migrate before the version goes, since the server refuses the update before."""
    found = _find(BOTH, TWO)

    assert _kinds(found, Need.REQUIRED) == [K.MIGRATE, K.PRUNE, K.APPLY]
    assert _kinds(found, Need.ADVISED) == [K.DEPRECATE, K.STOP]
    assert "missing from spec.versions" in found.refusals[0]
    assert found.bridge is not None


def test_an_entry_without_objects_is_only_removed() -> None:
    """Remove an entry of storedVersions that blocks the update although no object is stored in it: nothing to migrate."""
    found = _find(BOTH, TWO, counts={"v2": 7}, is_exact=True)

    assert _kinds(found, Need.REQUIRED) == [K.PRUNE, K.APPLY]
    assert found.bridge is None


def test_bytes_that_stored_versions_do_not_name_are_migrated() -> None:
    """Migrate objects of a version that is stored although status.storedVersions lacks it."""
    old = created(shaped("v1", "a"), shaped("v2", "a", storage=True), stored=["v2"])

    assert _kinds(_find(old, TWO, counts={"v1": 1, "v2": 7}, is_exact=True), Need.REQUIRED) == [K.MIGRATE, K.APPLY]
    assert _kinds(_find(old, TWO, counts={"v2": 7}, is_exact=True), Need.REQUIRED) == [K.APPLY]


def test_replaces_all_versions() -> None:
    """Go over a definition with all versions."""
    found = _find(ONE, TWO)

    assert _kinds(found, Need.REQUIRED) == [K.ADD, K.STORAGE, K.MIGRATE, K.PRUNE, K.APPLY]
    add, move = (step.manifest for step in found.steps[:2])
    assert add is not None
    assert move is not None
    assert [(one["name"], one["served"], one["storage"]) for one in add["spec"]["versions"]] == [("v2", True, False), ("v1", True, True)]
    assert [(one["name"], one["storage"]) for one in move["spec"]["versions"]] == [("v2", True), ("v1", False)]
    assert found.after is not None
    assert found.after.head["status"]["storedVersions"] == ["v2"]


def test_a_downgrade_that_finds_stored_versions() -> None:
    """Move the objects back before a definition without their version is applied, and forget who wrote in it; deprecate nothing."""
    found = find_steps(BOTH, ONE, StoredFacts(), is_rollback=True)

    assert _kinds(found) == [K.STORAGE, K.MIGRATE, K.PRUNE, K.STOP, K.REAPPLY, K.APPLY]
    assert found.steps[-1].title == "Apply the former definition of widgets.example.com"


def test_deploys_the_webhook_first() -> None:
    """Wait for a new webhook, for one at another place, and for one that must know another version."""
    new = created(shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=WEBHOOK)
    later = created(shaped("v1", "a"), shaped("v2", "b"), shaped("v3", "c", storage=True), conversion=WEBHOOK)
    other = json.loads(json.dumps(WEBHOOK).replace("hook", "other").replace("Webother", "Webhook").replace("webother", "webhook"))
    moved = created(shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=other)

    assert _kinds(_find(created(shaped("v1", "a", storage=True)), new), Need.REQUIRED) == [K.WEBHOOK, K.APPLY]
    assert _kinds(_find(new, later), Need.REQUIRED) == [K.WEBHOOK, K.APPLY]
    assert _kinds(_find(new, moved), Need.REQUIRED) == [K.WEBHOOK, K.APPLY]
    assert _kinds(_find(new, created(shaped("v1", "a"), shaped("v2", "b", "c", storage=True), conversion=WEBHOOK))) == [K.APPLY]


def test_relabels_bytes_before_a_webhook_converts() -> None:
    """Store objects as the version whose fields they have before a webhook replaces the strategy None."""
    old = created(shaped("v1", "host"), shaped("v2", "host", storage=True), stored=["v1", "v2"])
    found = _find(old, created(shaped("v1", "host"), shaped("v2", "address", storage=True), conversion=WEBHOOK))

    assert _kinds(found, Need.REQUIRED) == [K.STORAGE, K.MIGRATE, K.PRUNE, K.WEBHOOK, K.APPLY]
    assert found.relabelled == (("v2",), "v1")
    assert found.steps[2].stored_versions == ("v1",)


def test_no_steps_relabel_if_no_version_keeps_the_fields() -> None:
    """Break where no version keeps the fields of the bytes."""
    old = created(shaped("v1", "host"), shaped("v2", "host", storage=True))
    found = _find(old, created(shaped("v1", "name"), shaped("v2", "address", storage=True), conversion=WEBHOOK))

    assert found.breaks == ("objects stored as v2 lose spec.host: the webhook is not asked for bytes that name v2 already",)


def test_migrates_before_the_webhook_goes() -> None:
    """Store all objects in one version while the webhook still converts."""
    old = created(shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=WEBHOOK, stored=["v1", "v2"])
    found = _find(old, created(shaped("v1", "a"), shaped("v2", "b", storage=True)))

    assert _kinds(found) == [K.MIGRATE, K.PRUNE, K.APPLY]
    assert found.steps[-1].manifest is not None
    assert found.steps[-1].manifest["spec"]["conversion"] == {"strategy": "None", "webhook": None}


def test_forgets_managers_of_a_dropped_version() -> None:
    """Remove a version from managedFields before it goes: applies would fail."""
    found = _find(BOTH, TWO, stale_managers=["v1"])

    step = next(step for step in found.steps if step.kind is K.REAPPLY)
    assert step.need is Need.REQUIRED
    assert 'select(.apiVersion != "example.com/v1")' in step.commands[0]


def test_repairs_unreadable_objects_before_a_migration() -> None:
    """Repair what a migration cannot rewrite."""
    assert _kinds(_find(BOTH, TWO, unreadable=2), Need.REQUIRED) == [K.REPAIR, K.MIGRATE, K.PRUNE, K.APPLY]


def test_a_refused_update_has_no_steps() -> None:
    """Break where the server refuses the update whatever is done before."""
    found = _find(ONE, created(shaped("v1", "a", storage=True), scope="Cluster"))

    assert found.steps == ()
    assert found.after is None
    assert found.breaks == ('kube-apiserver refuses the update: spec.scope: Invalid value: "Cluster": field is immutable',)


def test_an_equal_definition_is_not_applied() -> None:
    """Plan only what an earlier release has left."""
    assert _kinds(_find(ONE, ONE)) == []
    assert _kinds(_find(BOTH, BOTH)) == [K.MIGRATE, K.PRUNE]


@pytest.mark.parametrize("served", [True, False])
def test_migrates_in_a_served_version(*, served: bool) -> None:
    """Read and write objects in a served version; the storage version need not be."""
    old = created(shaped("v1", "a"), shaped("v2", "a", storage=True, served=served), stored=["v1", "v2"])
    step = next(step for step in _find(old, old).steps if step.kind is K.MIGRATE)

    resource = "widgets.v2.example.com" if served else "widgets.v1.example.com"
    assert step.commands == (f"kubectl get {resource} -A -o json | kubectl replace -f -",)
