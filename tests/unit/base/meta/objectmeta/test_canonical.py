"""Coercion of metadata to the reference's ObjectMeta."""

from typing import Any

import pytest

from apiext.base.meta.golang.type_model import DecodeError
from apiext.base.meta.objectmeta import canonical

CANONICAL = {
    "name": "a",
    "creationTimestamp": "2026-11-21T08:47:45Z",
    "generation": 1,
    "labels": {"a": ""},
    "finalizers": ["a/b"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "P", "name": "n", "uid": "u", "controller": True}],
    "managedFields": [{"manager": "m", "operation": "Update", "time": "2019-12-31T23:00:00Z", "fieldsV1": {"f:spec": {}}}],
}


def test_keeps_canonical_metadata() -> None:
    """Keep the very object if it is canonical."""
    obj = {"metadata": CANONICAL}

    assert canonical.coerce(obj) == ([], False)
    assert obj["metadata"] is CANONICAL
    assert canonical.coerce({}) == ([], False)


def test_does_not_check_taken_entries() -> None:
    """Take the field manager's last entries as canonical, with sets of fields; others are checked."""
    entries: list[dict[str, Any]] = [{"manager": "m", "fieldsV1": {"f:a": 1}}, {"odd": 1}]
    before = {"managedFields": entries}
    assert not canonical.is_canonical(before)
    assert not canonical.has_field_sets(before)

    canonical.take_entries(entries)

    assert canonical.is_canonical(before)
    assert canonical.has_field_sets(before)
    assert not canonical.is_canonical({"managedFields": list(entries)})
    assert not canonical.has_field_sets({"managedFields": list(entries)})
    canonical.take_entries([])
    assert not canonical.is_canonical(before)


@pytest.mark.parametrize("member", [None, 0, 1, True, [], ["a"], {}, {"a": "b"}, b"a"])
def test_texts_are_texts(member: object) -> None:
    """Find no other type canonical in the place of a text."""
    for name in ("name", "uid", "namespace"):
        assert not canonical.is_canonical({name: member})
    assert canonical.is_canonical({"labels": member, "finalizers": ["a"]}) is (member == {"a": "b"})


@pytest.mark.parametrize(
    "metadata, coerced",
    [
        (None, {}),
        ({"labels": {"a": None}, "annotations": {}, "finalizers": [], "generateName": "", "generation": 0}, {"labels": {"a": ""}}),
        ({"finalizers": [None], "generation": 1.0}, {"finalizers": [""], "generation": 1}),
        (
            {"ownerReferences": [None, {"name": "n", "controller": None, "foo": 1}]},
            {
                "ownerReferences": [
                    {"apiVersion": "", "kind": "", "name": "", "uid": ""},
                    {"apiVersion": "", "kind": "", "name": "n", "uid": ""},
                ]
            },
        ),
        ({"creationTimestamp": None, "deletionTimestamp": "2020-01-01T00:00:00.5+02:00"}, {"deletionTimestamp": "2019-12-31T22:00:00Z"}),
        ({"managedFields": [None, {"fieldsV1": "x", "bar": 1}]}, {"managedFields": [{}, {"fieldsV1": "x"}]}),
    ],
)
def test_coerces_metadata(metadata: Any, coerced: dict[str, Any]) -> None:
    """Drop unknown and empty fields, replace nulls by empty values, and convert times to UTC."""
    obj = {"metadata": metadata}

    assert canonical.coerce(obj)[1]
    assert obj["metadata"] == coerced


@pytest.mark.parametrize(
    "metadata, why",
    [
        ({"name": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        ({"name": 5, "labels": {"a": 1}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        ({"labels": []}, "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string"),
        ({"finalizers": "x"}, "json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string"),
        (
            {"ownerReferences": {}},
            "json: cannot unmarshal object into Go struct field ObjectMeta.ownerReferences of type []v1.OwnerReference",
        ),
        (
            {"ownerReferences": [5]},
            "json: cannot unmarshal number into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
        ),
        (
            {"ownerReferences": [{"apiVersion": 1}]},
            "json: cannot unmarshal number into Go struct field OwnerReference.ownerReferences.apiVersion of type string",
        ),
        ({"uid": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.uid of type types.UID"),
        ({"generation": "1"}, "json: cannot unmarshal string into Go struct field ObjectMeta.generation of type int64"),
        ({"generation": 1.5}, "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64"),
        ({"generation": 1e30}, "json: cannot unmarshal number 1e+30 into Go struct field ObjectMeta.generation of type int64"),
        ({"creationTimestamp": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string"),
        (
            {"annotations": {"a": 1}, "managedFields": [{"time": "x"}]},
            'parsing time "x": not a time such as 2006-01-02T15:04:05Z',
        ),
        ("str", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        ([], "json: cannot unmarshal array into Go value of type v1.ObjectMeta"),
    ],
)
def test_rejects_wrong_types(metadata: Any, why: str) -> None:
    """Name the first wrong type in the order of keys, but a malformed time before all."""
    with pytest.raises(DecodeError) as refused:
        canonical.coerce({"metadata": metadata})

    assert str(refused.value) == why


def test_drops_malformed_fields_of_stored_objects() -> None:
    """Drop the fields that do not decode and keep the rest."""
    obj: dict[str, Any] = {"metadata": {"name": "a", "labels": {"a": 1}, "creationTimestamp": "foo", "generation": 3}}

    canonical.coerce(obj, drop_malformed=True)

    assert obj["metadata"] == {"name": "a", "generation": 3}
    with pytest.raises(DecodeError, match="invalid metadata: expected object, got int64"):
        canonical.coerce({"metadata": 5}, drop_malformed=True)


def test_reports_unknown_fields_in_key_order() -> None:
    """Report paths that begin at the metadata's place."""
    metadata = {"foo": 1, "Name": 2, "ownerReferences": [{"foo": 1}], "managedFields": [{"bar": 1}]}

    unknown, _ = canonical.coerce({"metadata": metadata}, report=True, path="spec.metadata")

    assert unknown == [
        "spec.metadata.Name",
        "spec.metadata.foo",
        "spec.metadata.managedFields[0].bar",
        "spec.metadata.ownerReferences[0].foo",
    ]
