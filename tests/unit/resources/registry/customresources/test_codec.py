"""The codec of custom resources."""

from typing import Any

import pytest

from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.registry.customresources.codec import CustomResourceCodec
from tests.support.builders.crds import widget
from tests.unit.resources.registry.conftest import schema

SHAPES = {
    "v1": schema(old={"type": "string"}, first={"type": "string", "default": "one"}),
    "v2": schema(new={"type": "string"}, second={"type": "string", "default": "two"}),
}


def _codec(version: str = "v1", *fields: str) -> CustomResourceCodec:
    return CustomResourceCodec(
        kind=GroupVersionKind("example.com", version, "Widget"),
        storage_version="v1",
        schemas=SHAPES,
        converter=NoneConverter(),
        namespaced=True,
        selectable_fields=fields,
    )


def _widget(version: str = "v1", **spec: Any) -> dict[str, Any]:
    return widget(version=version, metadata={"generation": 1}, **spec)


def test_encodes_as_kube_apiserver() -> None:
    """Encode with sorted keys, a final newline, no resourceVersion and no selfLink; leave the object unchanged."""
    obj = _widget(old="x") | {"metadata": {"name": "a", "resourceVersion": "5", "selfLink": "/x"}}

    assert _codec().encode(obj).data == b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"old":"x"}}\n'
    assert obj["metadata"]["resourceVersion"] == "5"


def test_prunes_by_the_storage_version() -> None:
    """Prune fields that the storage version lacks, and apply no defaults."""
    obj = _widget("v2", new="x", color="red")

    assert b'"apiVersion":"example.com/v1"' in (data := _codec("v2").encode(obj).data)
    assert data.endswith(b'"spec":{"color":"red"}}\n')
    assert obj == _widget("v2", new="x", color="red")


def test_defaults_by_the_stored_version() -> None:
    """Default by the stored version, and prune by the requested one."""
    data = _codec().encode(_widget(color="red", first="x")).data
    assert _codec().decode(data)["spec"] == {"color": "red", "first": "x"}
    assert _codec().decode(_codec().encode(_widget()).data)["spec"] == {"first": "one"}
    assert _codec("v2").decode(data) == _widget("v2", color="red")


def test_repairs_old_objects() -> None:
    """Drop malformed metadata and unknown fields, and set a missing generation."""
    data = b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"a":1}},"spec":{"foo":1}}'

    assert _codec().decode(data) == _widget(first="one")


@pytest.mark.parametrize(
    "data, why",
    [
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"1", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (b"null", "Object 'Kind' is missing in 'null'"),
        (b"", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"kind":"Widget"}', '/, Kind=Widget is unstructured and is not suitable for converting to "example.com/v1"'),
        (
            b'{"apiVersion":"example.com/v9","kind":"Widget","metadata":{}}',
            "request to convert CR from an invalid group/version: example.com/v9",
        ),
        (b'{"apiVersion":5,"kind":"Widget"}', ".apiVersion accessor error: 5 is of the type int64, expected string"),
    ],
)
def test_rejects_other_stored_bytes(data: bytes, why: str) -> None:
    """Raise ValueError for stored bytes that are no custom resource."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        _codec().decode(data)

    assert why in str(refused.value)


def test_prunes_and_defaults_bodies() -> None:
    """Report unknown fields of a body, those of metadata first."""
    obj = _widget(color=None, foo=1)
    obj["metadata"]["bar"] = 1

    assert _codec().decode_body(obj, True) == ['unknown field "metadata.bar"', 'unknown field "spec.foo"']
    assert obj == _widget(first="one")


@pytest.mark.parametrize(
    "body, why",
    [
        ({"kind": 5}, ".kind accessor error: 5 is of the type int64, expected string"),
        ({"metadata": {"name": 5}}, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
    ],
)
def test_rejects_other_bodies(body: dict[str, Any], why: str) -> None:
    """Reject a body that is no object with the reference's message."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        _codec().decode_body(_widget() | body, False)

    assert str(refused.value) == why


def test_returns_selectable_fields() -> None:
    """Return name, namespace and the CRD's selectable fields as text, "" for absent ones."""
    codec = _codec("v1", ".spec.color", ".spec.deep.on", ".spec.replicas")
    obj = _widget(replicas=3, deep={"on": True})

    assert codec.fields(obj) == {
        "metadata.name": "a",
        "metadata.namespace": "",
        "spec.color": "",
        "spec.deep.on": "true",
        "spec.replicas": "3",
    }


def test_encodes_deep_objects() -> None:
    """Store an object that is nested deeper than orjson writes."""
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}

    assert _codec().encode(_widget(deep=deep)).data.count(b'{"a":') == 400
