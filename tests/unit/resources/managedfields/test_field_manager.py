"""Managers of fields through updates and applies."""

import json
from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import StatusError
from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.managedfields.field_manager import FieldManager
from apiext.resources.managedfields.field_set import from_paths
from apiext.resources.managedfields.versions import CustomResourceVersions
from apiext.schema.model import Structural
from tests.support.refusals import refusal

KIND = GroupVersionKind("example.com", "v1", "Widget")
TEXT: Object = {"type": "string"}
SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "text": TEXT, "names": {"type": "array", "items": TEXT}}},
        "status": {"type": "object", "properties": {"phase": TEXT}},
    },
}


def _manager(version: str = "v1", **more: Any) -> FieldManager:
    kind = KIND._replace(version=version)
    schemas = {"example.com/v1": Structural(SCHEMA), "example.com/v2": Structural(SCHEMA)}
    return FieldManager(kind, CustomResourceVersions(kind, schemas, NoneConverter(), dict), **more)


def _widget(metadata: Object | None = None, version: str = "v1", **members: Any) -> Object:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": "a", **(metadata or {})}, **members}


def _owners(obj: Object) -> dict[tuple[str, ...], Any]:
    entries = obj["metadata"].get("managedFields", ())
    return {(entry["manager"], entry["operation"], entry["apiVersion"][-2:]): entry["fieldsV1"] for entry in entries}


async def _created(manager: str = "creator", **members: Any) -> Object:
    obj = _widget(**members)
    await _manager().update({}, obj, manager)
    obj["metadata"]["uid"] = "u"
    return obj


async def _updated(live: Object, manager: str, fields: FieldManager | None = None, **members: Any) -> Object:
    new = live | members
    await (fields or _manager()).update(live, new, manager)
    return new


async def _applied(live: Object, manager: str = "applier", *, force: bool = False, **members: Any) -> Object:
    obj = await _manager().apply(live, _widget(**members), manager, force=force)
    obj["metadata"]["uid"] = "u"
    return obj


async def test_records_a_create() -> None:
    """Record all fields of a new object but those of the system; a manager without a name is unknown."""
    obj = await _created("", metadata={"labels": {"a": "b"}, "generation": 1}, spec={"size": 1})

    assert _owners(obj) == {
        ("unknown", "Update", "v1"): {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {".": {}, "f:size": {}}}
    }
    assert obj["metadata"]["managedFields"][0]["fieldsType"] == "FieldsV1"


async def test_records_no_reset_fields_of_a_create() -> None:
    """Record no fields that the strategy resets."""
    fields = _manager(reset_fields={"example.com/v1": from_paths(("f:spec", "f:size"), ("f:status",))})
    obj = _widget(spec={"size": 1, "text": "x"}, status={"phase": "new"})
    await fields.update({}, obj, "creator")

    assert _owners(obj) == {("creator", "Update", "v1"): {"f:spec": {".": {}, "f:text": {}}}}


async def test_records_a_create_of_an_atomic_object() -> None:
    """Record an object that is owned as a whole as by a comparison with an empty one."""
    schema = Structural(SCHEMA | {"x-kubernetes-map-type": "atomic"})
    fields = FieldManager(KIND, CustomResourceVersions(KIND, {"example.com/v1": schema}, NoneConverter(), dict))
    obj, other = _widget(spec={"size": 1}), _widget(spec={"size": 1})
    await fields.update({}, obj, "creator")
    await fields.update({"apiVersion": "example.com/v1", "kind": "Widget"}, other, "creator")

    assert _owners(obj) == _owners(other)


async def test_records_nothing_of_an_empty_object() -> None:
    """Record no manager of an object without fields, nor of its later updates."""
    obj = await _created()
    changed = await _updated(obj, "late", spec={"size": 1})

    assert "managedFields" not in obj["metadata"]
    assert "managedFields" not in changed["metadata"]


async def test_moves_changed_fields() -> None:
    """Give changed fields to the last writer, and forget removed ones."""
    live = await _created(spec={"size": 1, "text": "x", "names": ["n"]})
    changed = await _updated(live, "late", spec={"size": 2, "names": ["n"]})
    again = await _updated(changed, "creator", spec={"size": 3, "names": ["n"]})

    assert _owners(changed) == {
        ("creator", "Update", "v1"): {"f:spec": {".": {}, "f:names": {}}},
        ("late", "Update", "v1"): {"f:spec": {"f:size": {}}},
    }
    assert _owners(again) == {("creator", "Update", "v1"): {"f:spec": {".": {}, "f:names": {}, "f:size": {}}}}


async def test_keeps_time_of_unchanged_fields() -> None:
    """Change no entry in an update that changes nothing."""
    live = await _created(spec={"size": 1})
    live["metadata"]["managedFields"][0]["time"] = "2020-01-01T00:00:00Z"
    same = await _updated(live, "creator")

    assert same["metadata"]["managedFields"] == live["metadata"]["managedFields"]


async def test_ignores_reset_fields() -> None:
    """Record nothing that the strategy resets."""
    live = await _created(spec={"size": 1})
    fields = _manager(reset_fields={"example.com/v1": from_paths(("f:status",))})
    changed = await _updated(live, "late", fields, status={"phase": "x"}, spec={"size": 2})

    assert _owners(changed) == {
        ("creator", "Update", "v1"): {"f:spec": {}},
        ("late", "Update", "v1"): {"f:spec": {"f:size": {}}},
    }


@pytest.mark.parametrize("sent", [None, [], [{"operation": "Foo"}], [{}, {}]])
async def test_keeps_entries(sent: Any) -> None:
    """Keep the entries where the client sends none, or invalid ones."""
    live = await _created(spec={"size": 1})
    new = live | {"metadata": {"name": "a", "uid": "u", "managedFields": sent}}
    await _manager().update(live, new, "late")

    assert _owners(new) == _owners(live)


async def test_accepts_entries() -> None:
    """Take entries that the client sends, and none of a subresource; one empty entry resets them."""
    live = await _created(spec={"size": 1})
    other = [live["metadata"]["managedFields"][0] | {"manager": "other"}]
    for fields, sent, owner in ((_manager(), other, "other"), (_manager(subresource="status"), other, "creator")):
        new = live | {"metadata": {"name": "a", "uid": "u", "managedFields": sent}}
        await fields.update(live, new, "late")
        assert [entry["manager"] for entry in new["metadata"]["managedFields"]] == [owner]
    reset = live | {"metadata": {"name": "a", "uid": "u", "managedFields": [{}]}}
    await _manager().update(live, reset, "late")

    assert "managedFields" not in reset["metadata"]


@pytest.mark.parametrize(
    "version,text",
    [
        ("example.com/v9", r"request to convert CR to an invalid group/version: example\.com/v9"),
        ("v1", r'example\.com/v1, Kind=Widget is unstructured and is not suitable for converting to "v1"'),
        ("a/b/c", "unexpected GroupVersion string: a/b/c"),
    ],
)
async def test_versions_that_are_gone(version: str, text: str) -> None:
    """Keep the entries of updates, and refuse applies, where a definition does not have a manager's version."""
    live = await _created(spec={"size": 1})
    live["metadata"]["managedFields"][0]["apiVersion"] = version
    changed = await _updated(live, "late", spec={"size": 2})

    assert changed["metadata"]["managedFields"] == live["metadata"]["managedFields"]
    with pytest.raises(StatusError, match=f"^{text}$"):
        await _applied(live, spec={"size": 2})


async def test_objects_of_another_kind() -> None:
    """Keep the entries of an update whose body is of another kind."""
    live = await _created(spec={"size": 1})
    changed = await _updated(live, "late", kind="Other", spec={"size": 2})

    assert changed["metadata"]["managedFields"] == live["metadata"]["managedFields"]


async def test_other_versions() -> None:
    """Compare the fields of managers of another version in that version."""
    live = await _created(spec={"size": 1, "text": "x"})
    new = live | {"apiVersion": "example.com/v2", "spec": {"size": 2, "text": "x"}}
    await _manager("v2").update(live | {"apiVersion": "example.com/v2"}, new, "late")

    assert _owners(new) == {
        ("creator", "Update", "v1"): {"f:spec": {".": {}, "f:text": {}}},
        ("late", "Update", "v2"): {"f:spec": {"f:size": {}}},
    }


async def test_applies() -> None:
    """Merge a configuration, share fields of equal values, and remove what is not applied any more."""
    obj = await _applied({}, spec={"size": 1, "text": "x"})
    shared = await _applied(obj, "other", spec={"size": 1})
    smaller = await _applied(shared, spec={})

    assert _owners(shared) == {
        ("applier", "Apply", "v1"): {"f:spec": {"f:size": {}, "f:text": {}}},
        ("other", "Apply", "v1"): {"f:spec": {"f:size": {}}},
    }
    assert smaller["spec"] == {"size": 1}
    assert _owners(smaller)["other", "Apply", "v1"] == {"f:spec": {"f:size": {}}}


async def test_conflicts() -> None:
    """Refuse to change fields of others unless forced."""
    live = await _created(spec={"size": 1})
    refused = await refusal(_applied(live, spec={"size": 2}))
    forced = await _applied(live, force=True, spec={"size": 2})

    assert (refused.code, refused.message) == (
        409,
        'Apply failed with 1 conflict: conflict with "creator" using example.com/v1: .spec.size',
    )
    assert _owners(forced) == {("applier", "Apply", "v1"): {"f:spec": {"f:size": {}}}, ("creator", "Update", "v1"): {"f:spec": {}}}


async def test_begins_with_the_first_apply() -> None:
    """Give the fields of an object without managers to before-first-apply."""
    live = _widget({"uid": "u"}, spec={"size": 1})
    applied = await _applied(live, spec={"size": 1})

    assert _owners(applied) == {
        ("applier", "Apply", "v1"): {"f:spec": {"f:size": {}}},
        ("before-first-apply", "Update", "v1"): {"f:spec": {".": {}, "f:size": {}}},
    }
    assert "time" not in applied["metadata"]["managedFields"][0]


@pytest.mark.parametrize(
    "config, code, message",
    [
        ({}, 400, "invalid object type: /, Kind="),
        ({"apiVersion": 5, "kind": "Foo"}, 400, "invalid object type: /, Kind=Foo"),
        ({"apiVersion": "a/b/c", "kind": "Foo"}, 400, "invalid object type: /, Kind="),
        (_widget(version="v2"), 400, "invalid object type: example.com/v2, Kind=Widget"),
        (_widget({"managedFields": []}), 400, "metadata.managedFields must be nil"),
        (_widget(spec={"nope": 1}), 500, "failed to create typed patch object (/a; example.com/v1, Kind=Widget): .spec.nope: "),
        (
            {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": []},
            500,
            ".metadata: expected map, got &{[]}",
        ),
    ],
)
async def test_refuses_configurations(config: Object, code: int, message: str) -> None:
    """Refuse a configuration of another type, with managers, or with fields that do not exist."""
    refused = await refusal(_manager().apply({}, config, "applier", force=False))

    assert refused.code == code
    assert message in refused.message


async def test_undecodable_entries() -> None:
    """Refuse an apply to an object with invalid entries."""
    with pytest.raises(StatusError, match="failed to decode managed fields: operation must be"):
        await _applied(_widget({"uid": "u", "managedFields": [{"operation": "Foo"}]}))


def _last_applied(**spec: Any) -> Object:
    return {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(_widget(spec=spec))}}


async def test_takes_over_from_client_side_apply() -> None:
    """Let kubectl change fields that client-side apply set, and record the configuration in the annotation."""
    live = await _created(metadata=_last_applied(size=1), spec={"size": 1, "text": "x"})
    moved = await _applied(live, "kubectl", spec={"size": 2})
    refused = await refusal(_applied(live, "kubectl", spec={"size": 2, "text": "y"}))
    with pytest.raises(StatusError):
        await _applied(live, "other", spec={"size": 2})

    assert moved["spec"] == {"size": 2, "text": "x"}
    recorded = moved["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert json.loads(recorded) == _widget(spec={"size": 2})
    assert recorded.endswith("}\n")
    assert refused.message.endswith(": .spec.text")


async def test_drops_too_large_annotation() -> None:
    """Remove the annotation where it became too large."""
    live = await _created(metadata=_last_applied(text="x"), spec={"text": "x"})
    moved = await _applied(live, "kubectl", spec={"text": "y" * 300_000})

    assert moved["metadata"]["annotations"] == {}


async def test_an_apply_names_the_object_without_managers_that_has_no_type() -> None:
    """Refuse the first apply to an object whose fields do not match the schema with the reference's message."""
    live = _widget(metadata={"uid": "u", "namespace": "default"}, spec={"names": {}})
    with pytest.raises(StatusError) as refused:
        await _applied(live, spec={"size": 1})

    assert refused.value.message == (
        "failed to create manager for existing fields: failed to convert new object (default/a; example.com/v1, Kind=Widget)"
        " to smd typed: .spec.names: expected list, got &{map[]}"
    )
