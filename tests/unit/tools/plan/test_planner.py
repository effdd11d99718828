"""Plans of releases, with the accidents that are known from real projects."""

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from apiext.resources.evaluation.definition_creation import create_definition
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.plan.plan import Need, Safety, State, StepKind
from apiext.tools.releases.interface import Release
from apiext.tools.releases.manifest_source import ManifestSource
from tests.support.builders.crds import crd, version
from tests.support.builders.plans import NAME, WEBHOOK, ListedObjects, created, custom, only, plan_of, release, schema, shaped

ONE: Final = created(shaped("v1", "a", "host", storage=True))
TWO: Final = created(shaped("v2", "a", "host", storage=True))
BOTH: Final = created(shaped("v1", "a", "host", served=False), shaped("v2", "a", "host", storage=True), stored=["v1", "v2"])
OBJECTS: Final = [custom(f"w{number}", "v2", a="x", host="h") for number in range(5)]


def test_an_equal_release_is_safe() -> None:
    """Find nothing to do."""
    plan = plan_of(ONE, ONE)

    assert plan.verdict is Safety.SAFE
    assert only(plan).state is State.UNCHANGED
    assert plan.notes == ("no objects were judged: --objects names some",)


def test_an_equal_release_leaves_stored_versions() -> None:
    """Judge the objects that steps for a later release rewrite, and say which version remains in storedVersions."""
    old = created(shaped("v1beta1", "a"), shaped("v1", "a", "b", storage=True), stored=["v1beta1", "v1"])
    plan = plan_of(old, old, ListedObjects(custom("m", "v1beta1", a="x"), custom("w", a="x", b="y")))
    found = only(plan)

    assert (found.state, found.verdict, found.breaks, found.way_back) == (State.UNCHANGED, Safety.SAFE, (), None)
    assert [step.kind for step in found.steps] == [StepKind.MIGRATE, StepKind.PRUNE]
    assert found.objects is not None
    assert [(one.kind, one.version, one.path, one.already) for one in found.objects.findings] == [
        (FindingKind.LOST, "v1beta1", "spec.b", 1)
    ]
    assert plan.notes == (f"{NAME}: v1beta1 remains in status.storedVersions; --steps prints how a later release can drop it",)


def test_a_new_definition_is_safe() -> None:
    """Create a definition, for which no rollback is judged."""
    found = only(plan_of(None, ONE, ListedObjects(custom("w", a="x"))))

    assert (found.state, found.verdict, found.way_back) == (State.ADDED, Safety.SAFE, None)
    assert found.objects is not None
    assert found.objects.total == 1


def test_an_added_field_is_safe() -> None:
    """Add a field: later writes of it are lost by a rollback, which is possible."""
    found = only(plan_of(TWO, created(shaped("v2", "a", "host", "more", storage=True)), ListedObjects(*OBJECTS)))

    assert found.verdict is Safety.SAFE
    assert found.way_back is not None
    assert found.way_back.verdict is Safety.SAFE
    assert found.way_back.loses == ("v2 spec.more: the field (string) was removed",)


def test_defaults_may_be_lost_again() -> None:
    """A rollback that drops only what defaults have set does no harm."""
    more = {"type": "object", "default": {}, "properties": {"x": {"type": "integer", "default": 3}}}
    found = only(plan_of(TWO, created(version("v2", storage=True, schema=schema("a", "host", more=more))), ListedObjects(*OBJECTS)))

    assert found.way_back is not None
    assert (found.verdict, found.way_back.verdict) == (Safety.SAFE, Safety.SAFE)


def test_a_rollback_restores_what_was_bad_before() -> None:
    """Do not blame a rollback for what a version does to objects before the release, too."""
    old = created(shaped("v1", "a"), shaped("v2", "a", "host", storage=True))
    found = only(plan_of(old, created(shaped("v1", "a", served=False), shaped("v2", "a", "host", storage=True)), ListedObjects(*OBJECTS)))

    assert found.way_back is not None
    assert found.way_back.verdict is Safety.SAFE


def test_a_removed_field_is_lost_from_objects() -> None:
    """Count the objects that lose a field, and name the first."""
    found = only(plan_of(TWO, created(shaped("v2", "a", storage=True)), ListedObjects(*OBJECTS)))

    assert found.verdict is Safety.BREAKING
    assert found.breaks == (
        "v2 spec.host: the field (string) was removed",
        "5 objects: v2 spec.host: a read no longer gives the field (default/w0, default/w1, default/w2, ...)",
    )


def test_ratcheted_objects_are_a_caution() -> None:
    """Warn of objects that are invalid under the new schema, but can be updated."""
    stricter = created(version("v2", storage=True, schema=schema("host", a={"type": "string", "maxLength": 0})))
    found = only(plan_of(TWO, stricter, ListedObjects(*OBJECTS)))

    assert [line for line in found.cautions if line.startswith("5 objects")]
    assert [line for line in found.breaks if "objects" in line] == []
    assert found.objects is not None
    assert (found.objects.invalid, found.objects.tolerated, found.objects.stuck) == (5, 5, 0)


def test_a_blocked_entry_without_objects() -> None:
    """Only remove an entry of storedVersions that blocks the update although no object is left in it."""
    stored = ListedObjects(*OBJECTS, is_stored=True)
    found = only(plan_of(BOTH, TWO, stored, stored=stored))

    assert found.verdict is Safety.STEPS
    assert [step.kind for step in found.steps] == [StepKind.PRUNE, StepKind.APPLY]
    assert "missing from spec.versions" in found.refusals[0]
    assert found.versions is not None
    assert found.versions.evidence == "counted from the stored bytes"


def test_unreadable_bytes_are_repaired_before_a_migration() -> None:
    """Count stored bytes that name no version of the group: a migration cannot rewrite them."""
    foreign = custom("x", "v1") | {"apiVersion": "other.example.com/v1"}
    found = only(plan_of(BOTH, TWO, stored=ListedObjects(custom("w", "v1", a="x"), foreign, is_stored=True)))

    assert [step.kind for step in found.steps if step.need is Need.REQUIRED] == [
        StepKind.REPAIR,
        StepKind.MIGRATE,
        StepKind.PRUNE,
        StepKind.APPLY,
    ]
    assert found.steps[0].title == "Repair or delete the objects that cannot be read (1)"


def test_a_downgrade_finds_stored_versions() -> None:
    """Refuse a definition without a version that objects may be stored in, and lead back in steps."""
    found = only(plan_of(created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True), stored=["v2"]), ONE))

    assert "status.storedVersions" in found.refusals[0]
    assert [step.kind for step in found.steps if step.need is Need.REQUIRED] == [
        StepKind.STORAGE,
        StepKind.MIGRATE,
        StepKind.PRUNE,
        StepKind.APPLY,
    ]


def test_bytes_are_labelled_as_the_newer_version() -> None:
    """Relabel bytes before a webhook converts: under None they were labelled as the newer version, with the older one's fields."""
    old = created(shaped("v1", "host"), shaped("v2", "host", storage=True, served=False), stored=["v2"])
    new = created(shaped("v1", "host"), shaped("v2", "address", storage=True, served=False), conversion=WEBHOOK)
    objects = ListedObjects(custom("w", "v2", host="h"), is_stored=True)
    found = only(plan_of(old, new, objects, stored=objects))

    kinds = [step.kind for step in found.steps if step.need is Need.REQUIRED]
    assert kinds == [StepKind.STORAGE, StepKind.MIGRATE, StepKind.PRUNE, StepKind.WEBHOOK, StepKind.APPLY]
    assert found.objects is not None
    assert found.objects.stored == {"v2": 1}
    # it is judged as v1 after the steps: its field is not dropped
    assert [line for line in found.breaks if "object" in line] == []


def test_managed_fields_name_a_dropped_version() -> None:
    """Remove the version from managedFields before it goes."""
    entry: dict[str, Any] = {"operation": "Apply", "manager": "helm", "apiVersion": "example.com/v1", "time": "2026-01-01T00:00:00Z"}
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:host": {}}}}
    found = only(plan_of(BOTH, TWO, ListedObjects(custom("w", "v2", managers=[entry], a="x", host="h"))))

    (step,) = (step for step in found.steps if step.kind is StepKind.REAPPLY)
    assert step.need is Need.REQUIRED
    assert found.verdict is Safety.STEPS


def test_findings_about_one_field_stay_apart_along_the_steps() -> None:
    """Keep what differs only in its message: other managers of a dropped version, and a new rule beside one that is violated before."""
    rules = [{"rule": f"size(self.a) < {most}", "message": f"at most {most}"} for most in (2, 3)]
    versions = [schema("a", "host") for _ in rules]
    for number, one in enumerate(versions, 1):
        one["properties"]["spec"]["x-kubernetes-validations"] = rules[:number]
    old = created(shaped("v1", "a", "host", storage=True), version("v2", schema=versions[0]))
    new = created(version("v2", storage=True, schema=versions[1]))
    entry: dict[str, Any] = {"operation": "Update", "apiVersion": "example.com/v1", "time": "2026-01-01T00:00:00Z"}
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:host": {}}}}
    objects = [custom(name, managers=[entry | {"manager": name}], a="long", host="h") for name in ("helm", "operator")]

    found = only(plan_of(old, new, ListedObjects(*objects)))

    assert any(step.kind is StepKind.MIGRATE for step in found.steps)
    assert found.objects is not None
    managers = [finding for finding in found.objects.findings if finding.kind is FindingKind.MANAGER]
    assert [(finding.count, finding.examples) for finding in managers] == [(1, ["default/helm"]), (1, ["default/operator"])]
    assert len([line for line in found.cautions if "at most 3" in line]) == 1


def test_a_webhook_in_the_operator_that_it_keeps_from_starting() -> None:
    """Warn of a new webhook behind a Service if the operator's first list needs it."""
    found = only(
        plan_of(created(shaped("v1", "a", storage=True)), created(shaped("v1", "a"), shaped("v2", "a", storage=True), conversion=WEBHOOK))
    )

    assert found.verdict is Safety.STEPS
    assert found.steps[0].kind is StepKind.WEBHOOK
    assert "both may wait for each other" in found.cautions[0]


def test_conversions_without_a_webhook_are_not_judged() -> None:
    """Say that conversions were not judged, since no webhook is called."""
    new = created(shaped("v1", "a", "host"), shaped("v2", "a", storage=True), conversion=WEBHOOK)
    found = only(plan_of(ONE, new, ListedObjects(custom("w", a="x"))))

    assert [line for line in found.cautions if line.startswith("conversion: not judged")]


def test_status_of_files_is_not_known() -> None:
    """Expect objects in every version of a definition that comes from files."""
    old = created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True))
    live = only(plan_of(release(old, is_live=True), TWO))
    files = only(plan_of(release(old), created(shaped("v2", "a", storage=True))))

    assert live.verdict is Safety.SAFE
    assert files.verdict is Safety.STEPS
    assert files.versions is not None
    assert files.versions.stored_before == ("v1", "v2")
    assert "not known" in files.versions.evidence


@pytest.mark.parametrize("removes", [True, False])
def test_removed_definitions(*, removes: bool) -> None:
    """Judge the deletion of definitions on request, with the number of their objects."""
    other = asyncio.run(create_definition(_canonical(crd("gadgets", kind="Gadget"))))
    plan = plan_of(release(ONE, other, is_live=True), release(other), ListedObjects(custom("w")), removes=removes)

    assert [one.name for one in plan.definitions] == ["gadgets.example.com", *([NAME] if removes else [])]
    assert plan.verdict is (Safety.BREAKING if removes else Safety.SAFE)
    if removes:
        assert plan.definitions[1].breaks[-1] == "1 object would be deleted with the definition"
    else:
        assert plan.notes[0].startswith(f"not judged, since new does not have them: {NAME}")


def test_refused_definitions() -> None:
    """Break where a server refuses the definition, except where it accepts it as an update of an old one."""
    draft = _canonical(crd("widgets", shaped("v1", "a", storage=True) | {"schema": {}}))
    refused = Release("new", {}, {NAME: ["spec: wrong"]}, drafts={NAME: draft})

    assert only(plan_of(None, refused)).breaks == ("kube-apiserver refuses the definition: spec: wrong",)
    assert only(plan_of(ONE, refused)).state is State.REFUSED
    assert only(plan_of(ONE, Release("new", {}, {NAME: ["x"]}, drafts={NAME: ONE.object}))).state is State.UNCHANGED


def test_remarks_are_notes() -> None:
    """Say what the readers left out, and which old definitions are invalid."""
    old = Release("old", {}, {NAME: ["spec: wrong"]}, remarks=["old.yaml: no manifest"])
    plan = plan_of(old, Release("new", {NAME: ONE}, remarks=["new.yaml: unknown field"]))

    assert plan.notes[:3] == (
        "old.yaml: no manifest",
        "new.yaml: unknown field",
        f"{NAME}: the old definition is left out, since kube-apiserver refuses it: spec: wrong",
    )


def test_the_verdict_of_the_release_is_the_worst() -> None:
    """Plan definitions in the order of their names."""
    other = asyncio.run(create_definition(_canonical(crd("gadgets", shaped("v1", "a", storage=True), kind="Gadget"))))
    worse = asyncio.run(create_definition(_canonical(crd("gadgets", shaped("v1", storage=True), kind="Gadget"))))
    plan = plan_of(release(ONE, other, is_live=True), release(ONE, worse))

    assert [one.verdict for one in plan.definitions] == [Safety.BREAKING, Safety.SAFE]
    assert plan.verdict is Safety.BREAKING
    assert plan.rollback_verdict is Safety.SAFE


def test_no_rollback() -> None:
    """Leave the way back out on request."""
    assert only(plan_of(TWO, created(shaped("v2", "a", storage=True)), judges_rollback=False)).way_back is None


def test_a_rollback_that_harms_says_so() -> None:
    """Judge the rollback with the objects as they are after the release."""
    hooked = created(shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=WEBHOOK, stored=["v2"])
    found = only(plan_of(created(shaped("v1", "a", storage=True)), hooked))

    assert found.way_back is not None
    assert found.way_back.verdict is Safety.STEPS
    assert [step.kind for step in found.way_back.steps] == [
        StepKind.STORAGE,
        StepKind.MIGRATE,
        StepKind.PRUNE,
        StepKind.STOP,
        StepKind.REAPPLY,
        StepKind.APPLY,
    ]


def test_reports_progress() -> None:
    """Report the objects judged so far."""
    seen: list[Any] = []
    plan_of(TWO, created(shaped("v2", "a", storage=True)), ListedObjects(*OBJECTS), on_progress=lambda *row: seen.append(row))

    assert seen == [(NAME, 2, 5), (NAME, 5, 5)]


def _canonical(obj: dict[str, Any]) -> dict[str, Any]:
    from apiext.resources.definitions.codec import canonical

    return canonical(obj)


def test_samples_of_the_new_release() -> None:
    """Do not judge the rollback by objects in a version that only the new release has: before it, no server takes them."""
    old, new = created(shaped("v1", "a", storage=True)), created(shaped("v1", "a"), shaped("v2", "a", "b", storage=True))
    sample = custom("w", "v2", a="x", b="y")
    del sample["metadata"]["uid"]
    found = only(plan_of(old, new, ListedObjects(sample)))

    assert found.objects is not None
    assert found.way_back is not None
    assert (found.verdict, found.way_back.verdict) == (Safety.SAFE, Safety.STEPS)
    assert found.breaks == ()
    assert (found.objects.only_new, found.objects.stored) == (1, {})


def test_objects_without_a_definition(tmp_path: Path) -> None:
    """Count objects of files that have no definition, by kind."""
    misspelt = custom("a") | {"kind": "Wigdet"}
    others = [
        custom("b"),
        misspelt,
        misspelt | {"metadata": {"name": "c"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}},
    ]
    of_kustomize = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "metadata": {"name": "e"}}
    (tmp_path / "all.yaml").write_text(yaml.dump_all([*others, of_kustomize, crd("widgets", kind="Widget")]))
    source = ManifestSource([tmp_path])
    plan = plan_of(ONE, created(shaped("v1", "a", "host", "more", storage=True)), source)

    assert plan.notes == ("not judged, since neither release has a definition of their kind: 1 ConfigMap, 2 Wigdet.example.com",)
    asyncio.run(source.close())
