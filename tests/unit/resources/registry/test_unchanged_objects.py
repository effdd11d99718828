"""Stored objects that are shown by inserting their resourceVersion: equal to what decoding and encoding them gives."""

from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.registry.customresources.codec import CustomResourceCodec
from apiext.schema.compiled import CompiledSchema
from apiext.storage import stored_object
from apiext.storage.rendering.renderer import Renderer, without_revision
from tests.support.builders.crds import widget

UID = "3f0f6b2e-5f0e-4b7e-9a51-0d2f6b0a7c11"
SCHEMA = CompiledSchema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "string", "default": "m"},
                    "count": {"type": "integer"},
                    "ratio": {"type": "number"},
                    "uid": {"type": "string"},
                },
            }
        },
    }
)
RENDERER = Renderer("/registry/example.com/widgets/")


def codec(version: str = "v1") -> CustomResourceCodec:
    """Return the codec of a version."""
    return CustomResourceCodec(
        kind=GroupVersionKind("example.com", version, "Widget"),
        storage_version="v1",
        schemas={"v1": SCHEMA, "v2": SCHEMA},
        converter=NoneConverter(),
        namespaced=True,
        selectable_fields=[".spec.size"],
    )


def stored(metadata: dict[str, Any] | None = None, **spec: Any) -> bytes:
    """Return the bytes of a widget, as they are stored."""
    base = {"namespace": "default", "uid": UID, "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    found = {name: value for name, value in (base | (metadata or {})).items() if value is not None}
    return json_codec.dumps(widget(metadata=found, **{"size": "l"} | spec)) + b"\n"


def is_unchanged(data: bytes) -> bool:
    """Report whether an object is shown without being encoded again."""
    return codec().decode_unchanged(data) is not None


UNCHANGED = {
    "plain": stored(count=1),
    "labels": stored({"labels": {"a": "b"}, "annotations": {"x": 'a "uid":"' + UID + '" <&>\u2028'}}),
    "managed": stored({"managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:metadata": {"f:uid": {}}}}]}),
    "owner": stored({"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "other"}], "finalizers": ["a/b"]}),
    "own uid elsewhere": stored(uid=UID),
    "own uid in a label": stored({"labels": {"uid": UID}}),
    "own uid of an owner": stored({"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": UID}]}),
    "no uid": stored({"uid": None}),
    "a resourceVersion": stored({"resourceVersion": "3"}),
}
CHANGED = {
    "a default": stored(size=None).replace(b'"size":null', b'"count":1'),
    "an unknown field": stored(more=1),
    "a null": stored(count=None),
    "a fraction": stored(ratio=1.5),
    "no generation": stored({"generation": None}),
    "an unknown field of the metadata": stored({"clusterName": "x"}),
    "an empty label map": stored({"labels": {}}),
    "another version": stored().replace(b"example.com/v1", b"example.com/v2"),
    "another order": b'{"kind":"Widget",' + stored().replace(b'"kind":"Widget",', b"", 1)[1:],
    "spaces": stored().replace(b'"kind":', b'"kind": ', 1),
    "no final newline": stored()[:-1],
}


@pytest.mark.parametrize("data", [*UNCHANGED.values(), *CHANGED.values()], ids=[*UNCHANGED, *CHANGED])
@pytest.mark.parametrize("revision", [0, 7])
def test_shows_what_decoding_gives(data: bytes, revision: int) -> None:
    """Show the same bytes, labels and fields as decoding, and encoding again, in every version."""
    for version in ("v1", "v2"):
        of = codec(version)
        shown = RENDERER.item(of, "default/a", data, revision)
        expected = RENDERER.render(of, "default/a", RENDERER.decode(of, "default/a", data, revision), revision)
        assert (shown.data, shown.labels, shown.fields) == (expected.data, expected.labels, expected.fields)


@pytest.mark.parametrize("data", UNCHANGED.values(), ids=UNCHANGED)
def test_unchanged_objects_are_recognized(data: bytes) -> None:
    """Recognize objects that decoding would not change; the cache can restore their stored bytes."""
    shown = RENDERER.item(codec(), "default/a", data, 7)
    assert is_unchanged(data)
    assert b'"resourceVersion":"3"' in data or b'"uid"' not in data or without_revision(shown) == data


@pytest.mark.parametrize(
    "data", [data for name, data in CHANGED.items() if "newline" not in name], ids=[n for n in CHANGED if "newline" not in n]
)
def test_other_objects_are_decoded(data: bytes) -> None:
    """Decode objects that are pruned or defaulted, or that are stored in another form or version."""
    assert not is_unchanged(data)


def test_cbor_is_decoded() -> None:
    """Decode objects that are stored in CBOR."""
    data = stored_object.cbor(json_codec.loads(stored()))
    assert not is_unchanged(data)
    assert RENDERER.item(codec(), "default/a", data, 7).data == RENDERER.item(codec(), "default/a", stored(), 7).data
