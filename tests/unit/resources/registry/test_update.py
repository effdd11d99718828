"""Updates: protected fields, generations and retries."""

from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.registry.request_context import UpdateOptions
from apiext.resources.registry.rest import uid_precondition
from tests.support.refusals import refusal
from tests.unit.resources.registry.conftest import OTHER_NAMESPACE, Widgets

UNSPECIFIED = 'widgets.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update'
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def _with(obj: Object, **metadata: Any) -> Object:
    changed = {name: member for name, member in {**obj["metadata"], **metadata}.items() if member is not None}
    return {**obj, "metadata": changed}


async def test_counts_changes_of_the_spec(widgets: Widgets) -> None:
    """Increase the generation for a changed spec, not for labels or status."""
    obj = await widgets.create("a", spec={"color": "red"})

    same = await widgets.put(_with(obj, labels={"a": "b"}) | {"status": {"replicas": 1}})
    assert same["metadata"]["generation"] == 1
    assert "status" not in same

    changed = await widgets.put(same | {"spec": {"color": "blue"}})
    assert changed["metadata"]["generation"] == 2


async def test_distinguishes_integers_from_floats(widgets: Widgets) -> None:
    """Treat an integer that becomes an equal float as a change."""
    obj = await widgets.create("a", spec={"replicas": 1})
    changed = await widgets.put(obj | {"spec": {**obj["spec"], "replicas": 2}})

    assert changed["metadata"]["generation"] == 2


async def test_does_not_write_unchanged_objects(widgets: Widgets) -> None:
    """Keep the resourceVersion of an unchanged object."""
    obj = await widgets.create("a")

    assert await widgets.put(obj) == obj


async def test_keeps_system_fields(widgets: Widgets) -> None:
    """Keep uid, creation time and generation, whatever the client sends."""
    obj = await widgets.create("a")
    sent = _with(obj, uid=None, creationTimestamp="2020-01-01T00:00:00Z", generation=99, generateName="xx")

    updated = await widgets.put(sent)

    for name in ("uid", "creationTimestamp", "generation"):
        assert updated["metadata"][name] == obj["metadata"][name]
    assert updated["metadata"]["generateName"] == "xx"


@pytest.mark.parametrize(
    "metadata, code, message",
    [
        ({"resourceVersion": None}, 422, UNSPECIFIED),
        ({"resourceVersion": "0"}, 422, UNSPECIFIED),
        ({"resourceVersion": "1"}, 409, f'Operation cannot be fulfilled on widgets.example.com "a": {MODIFIED}'),
        ({"resourceVersion": "foo"}, 500, 'strconv.ParseUint: parsing "foo": invalid syntax'),
        ({"resourceVersion": "9" * 20}, 500, f'strconv.ParseUint: parsing "{"9" * 20}": value out of range'),
        (
            {"deletionGracePeriodSeconds": 4},
            422,
            'Widget.example.com "a" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 4: field is immutable',
        ),
        ({"namespace": "bad"}, 400, OTHER_NAMESPACE),
    ],
)
async def test_rejects_invalid_updates(widgets: Widgets, metadata: dict[str, Any], code: int, message: str) -> None:
    """Reject invalid updates with the reference's message."""
    await widgets.create("b")
    obj = await widgets.create("a")
    refused = await refusal(widgets.put(_with(obj, **metadata)))

    assert (refused.code, refused.message) == (code, message)


async def test_repeats_metadata_causes(widgets: Widgets) -> None:
    """Repeat the causes of bad labels as the reference does, and name them once in the message."""
    obj = await widgets.create("a")
    refused = await refusal(widgets.put(_with(obj, labels={"a": "x" * 64})))

    assert refused.details is not None
    assert [cause["field"] for cause in refused.details["causes"]] == ["metadata.labels"] * 3
    assert refused.message.count("metadata.labels") == 1


async def test_checks_the_uid_of_the_body(widgets: Widgets) -> None:
    """Answer 409 with the storage error for a body with another uid."""
    obj = await widgets.create("a")
    sent = _with(obj, uid="bad")
    refused = await refusal(widgets.put(sent, options=UpdateOptions(preconditions=uid_precondition(sent))))

    assert refused.code == 409
    assert refused.message == (
        'Operation cannot be fulfilled on widgets.example.com "a": StorageError: invalid object, Code: 4, '
        "Key: /registry/example.com/widgets/default/a, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: bad, UID in object meta: {obj['metadata']['uid']}"
    )


async def test_does_not_create(widgets: Widgets) -> None:
    """Answer 404 for an absent custom resource."""
    body = widgets.body("a")
    missing = await refusal(widgets.put(body))
    assert missing.code == 404


async def test_retries_after_a_conflict(widgets: Widgets) -> None:
    """Retry with the new state after a concurrent write, and repeat no warnings."""
    await widgets.create("a", spec={"color": "red"})
    seen: list[str] = []

    async def paint(existing: Object) -> Object:
        seen.append(existing["spec"]["color"])
        if len(seen) == 1:
            current = await widgets.get("a")
            await widgets.put(current | {"spec": {"color": "green"}})
        return _with(existing, finalizers=["nodomain"]) | {"spec": {"color": existing["spec"]["color"] + "ish"}}

    item, created = await widgets.rest.update(widgets.ctx, "a", paint, UpdateOptions())

    assert (seen, created) == (["red", "green"], False)
    assert item.object()["spec"]["color"] == "greenish"
    assert len(widgets.ctx.warnings) == 1


async def test_dry_run_writes_nothing(widgets: Widgets) -> None:
    """Return the result of a dry run without writing it."""
    obj = await widgets.create("a", spec={"color": "red"})
    updated = await widgets.put(obj | {"spec": {"color": "blue"}}, options=UpdateOptions(dry_run=True))

    assert (updated["spec"]["color"], updated["metadata"]["generation"]) == ("blue", 2)
    assert await widgets.get("a") == obj


async def test_admission_sees_new_and_old(widgets: Widgets) -> None:
    """Call admission after validation with both objects."""
    obj = await widgets.create("a", spec={"color": "red"})
    seen: list[Any] = []

    async def admit(operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        assert new is not None
        assert old is not None
        seen.append((operation, new["spec"]["color"], old["spec"]["color"]))

    await widgets.put(obj | {"spec": {"color": "blue"}}, options=UpdateOptions(admit=admit))

    assert seen == [(AdmissionOperation.UPDATE, "blue", "red")]


async def test_rejects_an_object_without_version(widgets: Widgets) -> None:
    """Reject an update without apiVersion, as the reference does after a patch."""
    obj = await widgets.create("a")
    del obj["apiVersion"]
    refused = await refusal(widgets.put(obj))

    why = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
    assert (refused.code, refused.message) == (500, f"Internal error occurred: {why}")


async def test_writes_no_times_alone(widgets: Widgets) -> None:
    """Write nothing for an update that changes only the times of managedFields."""
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}
    obj = await widgets.create("a", metadata={"managedFields": [entry | {"time": "2020-01-01T00:00:00Z"}]})
    later = [entry | {"time": "2021-01-01T00:00:00Z"}]

    assert await widgets.put(_with(obj, managedFields=later)) == obj
    changed = await widgets.put(_with(obj, managedFields=later, labels={"a": "b"}))
    assert changed["metadata"]["managedFields"] == later
    assert changed["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]
