"""What admission plug-ins see of writes, and what becomes of their changes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.base.meta.gvk import GroupVersionKind
from tests.support.builders.crds import widget, widget_crd, widgets_path
from tests.support.recorded_admission import RecordedAdmission
from tests.support.servers.in_process import InProcess

BASE = widgets_path()
META = "meta.k8s.io/v1"
APPLY = {"Content_Type": "application/apply-patch+yaml"}
MERGE = {"Content_Type": "application/merge-patch+json"}


@pytest.fixture
def plugin() -> RecordedAdmission:
    """Return the plug-in of the server."""
    return RecordedAdmission()


@pytest.fixture
async def admitted(plugin: RecordedAdmission) -> AsyncIterator[InProcess]:
    """Yield a server that serves widgets, without objects."""
    async with InProcess(plugins=[plugin]) as server:
        await server.define(widget_crd(served=("v1", "v2")))
        yield server


def options_of(plugin: RecordedAdmission) -> list[tuple[str, dict[str, Any]]]:
    """Return operation and options of the calls of mutating admission since the last look."""
    found = [(seen.operation, seen.options) for seen in plugin.seen if seen.phase == "admit"]
    plugin.seen.clear()
    return found


async def test_gives_the_options_of_each_operation(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Give CreateOptions to creates, UpdateOptions to updates and patches, DeleteOptions to deletes, as the client sends them."""
    await admitted.ask("POST", f"{BASE}?fieldManager=me&fieldValidation=Strict", widget())
    await admitted.ask("PUT", f"{BASE}/a?dryRun=All", widget(replicas=1))
    await admitted.ask("PATCH", f"{BASE}/a?fieldManager=me", {"spec": {"replicas": 2}}, **MERGE)
    uid = (await admitted.ask("GET", f"{BASE}/a")).json["metadata"]["uid"]
    body = {"gracePeriodSeconds": 3, "preconditions": {"uid": uid}, "propagationPolicy": "Background"}
    await admitted.ask("DELETE", f"{BASE}/a", body)

    assert options_of(plugin) == [
        ("CREATE", {"kind": "CreateOptions", "apiVersion": META, "fieldManager": "me", "fieldValidation": "Strict"}),
        ("UPDATE", {"kind": "UpdateOptions", "apiVersion": META, "dryRun": ["All"]}),
        ("UPDATE", {"kind": "UpdateOptions", "apiVersion": META, "fieldManager": "me"}),
        ("DELETE", {"kind": "DeleteOptions", "apiVersion": META, **body}),
    ]


async def test_an_apply_that_creates_is_a_create(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Give a create with CreateOptions and the name in the path for an apply that creates, and an update for the next one."""
    for _ in range(2):
        answer = await admitted.ask("PATCH", f"{BASE}/a?fieldManager=me&force=true", widget(replicas=1), **APPLY)
        assert answer.status in {200, 201}

    created = {"kind": "CreateOptions", "apiVersion": META, "fieldManager": "me"}
    assert [(seen.phase, seen.operation, seen.name, seen.options, seen.old is None) for seen in plugin.seen] == [
        ("admit", "CREATE", "a", created, True),
        ("validate", "CREATE", "a", created, True),
        ("admit", "UPDATE", "a", created | {"kind": "UpdateOptions"}, False),
        ("validate", "UPDATE", "a", created | {"kind": "UpdateOptions"}, False),
    ]


async def test_validating_admission_sees_the_generated_name(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Give no name to mutating admission of an object with generateName, and the generated one to validating admission."""
    obj = widget() | {"metadata": {"generateName": "x-"}}
    name = (await admitted.ask("POST", BASE, obj)).json["metadata"]["name"]

    assert [(seen.phase, seen.name) for seen in plugin.seen] == [("admit", ""), ("validate", name)]


async def test_scales_are_seen_as_scales(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Give old and new Scale objects to admission of the scale subresource, whose kind is autoscaling/v1 Scale."""
    await admitted.ask("POST", BASE, widget(replicas=1))
    plugin.seen.clear()
    answer = await admitted.ask("PATCH", f"{BASE}/a/scale", {"spec": {"replicas": 5}}, **MERGE)

    assert answer.status == 200
    assert [(seen.phase, seen.resource, seen.kind) for seen in plugin.seen] == [
        ("admit", "widgets/scale", "Scale"),
        ("validate", "widgets/scale", "Scale"),
    ]
    assert all(seen.new and seen.old and (seen.old["spec"], seen.new["spec"]) == ({"replicas": 1}, {"replicas": 5}) for seen in plugin.seen)


async def test_unknown_fields_of_plugins_are_dropped_when_written(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Show an unknown field that a plug-in adds to validating admission, but not to clients, and set defaults that it removes."""

    def change(obj: dict[str, Any]) -> dict[str, Any]:
        obj["spec"] = {"unknown": 1, "replicas": 7}
        return obj

    plugin.change = change
    answer = await admitted.ask("POST", BASE, widget())

    assert (answer.status, answer.json["spec"]) == (201, {"replicas": 7, "size": "m"})
    assert (await admitted.ask("GET", f"{BASE}/a")).json["spec"] == {"replicas": 7, "size": "m"}
    (validated,) = (seen for seen in plugin.seen if seen.phase == "validate")
    assert validated.new is not None
    assert validated.new["spec"] == {"unknown": 1, "replicas": 7, "size": "m"}


async def test_results_of_plugins_are_validated(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Refuse an object that a plug-in has made invalid, of another kind, or of another name, as one of a client."""
    found = []
    for path, value in ((("spec", "any"), "x"), (("kind",), "Gadget"), (("metadata", "namespace"), "other")):

        def change(obj: dict[str, Any], path: tuple[str, ...] = path, value: str = value) -> dict[str, Any]:
            below = obj
            for name in path[:-1]:
                below = below[name]
            below[path[-1]] = value
            return obj

        plugin.change = change
        found.append((await admitted.ask("POST", BASE, widget())).json)

    assert [(status["code"], status["message"]) for status in found] == [
        (
            422,
            'Widget.example.com "a" is invalid: spec.any: Invalid value: "string": spec.any in body must be of type object: "string"',
        ),
        (422, 'Gadget.example.com "a" is invalid: kind: Invalid value: "Gadget": must be Widget'),
        (400, "the namespace of the provided object does not match the namespace sent on the request"),
    ]


async def test_invalid_managers_of_plugins_are_undone(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Keep the managedFields from before admission with a warning if a plug-in makes them invalid. Take valid ones over."""

    def changed(**members: Any) -> None:
        def change(obj: dict[str, Any]) -> dict[str, Any]:
            obj["metadata"]["managedFields"][0] |= members
            return obj

        plugin.change = change

    changed(operation="Other")
    first = await admitted.ask("POST", f"{BASE}?fieldManager=me", widget("a"))
    changed(manager="plugin")
    second = await admitted.ask("POST", f"{BASE}?fieldManager=me", widget("b"))

    assert [answer.json["metadata"]["managedFields"][0]["manager"] for answer in (first, second)] == ["me", "plugin"]
    text = "this could be caused by an outdated mutating admission controller; please fix your requests"
    assert first.warnings == [
        f'299 - ".metadata.managedFields was in an invalid state after admission; {text}: operation must be `Apply` or `Update`"'
    ]
    assert second.warnings == []


async def test_objects_are_shown_in_all_versions(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Offer the other versions of a definition as equivalent resources, and convert objects to them and back."""
    await admitted.ask("POST", BASE, widget(replicas=1))
    attributes = plugin.attributes[0]
    objects = attributes.objects

    assert objects is not None
    assert attributes.new is not None
    (other,) = objects.equivalents()
    assert (other.resource.version, other.kind) == ("v2", GroupVersionKind("example.com", "v2", "Widget"))
    converted = await objects.convert(attributes.new, other.kind)
    assert converted == attributes.new | {"apiVersion": "example.com/v2"}
    assert await objects.convert(converted, attributes.kind) == attributes.new
    assert await objects.convert(attributes.new, attributes.kind) is attributes.new


@pytest.mark.parametrize(
    "source,kind,text",
    [
        (
            "other/v1",
            GroupVersionKind("example.com", "v1", "Widget"),
            'other/v1, Kind=Widget is unstructured and is not suitable for converting to "example.com/v1"',
        ),
        (
            "a/b/c",
            GroupVersionKind("example.com", "v1", "Widget"),
            '/, Kind= is unstructured and is not suitable for converting to "example.com/v1"',
        ),
        (
            "example.com/v1",
            GroupVersionKind("example.com", "v9", "Widget"),
            "request to convert CR to an invalid group/version: example.com/v9",
        ),
        (
            "example.com/v9",
            GroupVersionKind("example.com", "v1", "Widget"),
            "request to convert CR from an invalid group/version: example.com/v9",
        ),
    ],
)
async def test_conversions_to_and_from_other_versions_fail(
    admitted: InProcess, plugin: RecordedAdmission, source: str, kind: GroupVersionKind, text: str
) -> None:
    """Refuse to convert objects of other groups, and to or from versions that the definition does not have."""
    await admitted.ask("POST", BASE, widget())
    objects = plugin.attributes[0].objects

    assert objects is not None
    with pytest.raises(ValueError, match=text):
        await objects.convert({"apiVersion": source, "kind": "Widget"}, kind)


@pytest.mark.parametrize(
    "configuration,text",
    [
        ({"apiVersion": "example.com/v2"}, r"patch \(example.com/v2, Kind=Widget\) and original object"),
        ({"spec": {"replicas": "x"}}, r"failed to convert patch object to typed object: .spec.replicas: expected numeric"),
        ({"spec": {"other": 1}}, r"failed to convert patch object to typed object: .spec.other: field not declared in schema"),
    ],
)
async def test_refuses_configurations(admitted: InProcess, plugin: RecordedAdmission, configuration: dict[str, Any], text: str) -> None:
    """Refuse apply configurations of another version, of other types, and with unknown fields."""
    await admitted.ask("POST", BASE, widget())
    attributes = plugin.attributes[0]

    assert attributes.objects is not None
    assert attributes.new is not None
    with pytest.raises(ValueError, match=text):
        await attributes.objects.apply_configuration(attributes.new, {"apiVersion": "example.com/v1", "kind": "Widget", **configuration})


async def test_merges_configurations(admitted: InProcess, plugin: RecordedAdmission) -> None:
    """Merge the fields of an apply configuration into the object, and keep the others."""
    await admitted.ask("POST", BASE, widget(replicas=1, any={"x": 1}))
    attributes = plugin.attributes[0]

    assert attributes.objects is not None
    assert attributes.new is not None
    configuration = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"replicas": 2}, "metadata": {"labels": {"a": "b"}}}
    merged = await attributes.objects.apply_configuration(attributes.new, configuration)
    assert merged["spec"] == {"replicas": 2, "size": "m", "any": {"x": 1}}
    assert merged["metadata"] == attributes.new["metadata"] | {"labels": {"a": "b"}}
