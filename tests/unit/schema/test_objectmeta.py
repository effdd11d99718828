"""Embedded resources: coercion and validation of type and metadata."""

from typing import Any

import pytest

from apiext.schema.model import Structural
from apiext.schema.objectmeta.algorithm import CoercionError, coerce
from apiext.schema.objectmeta.validation import resource_errors

RESOURCE = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
SCHEMA = {
    "type": "object",
    "properties": {"e": RESOURCE, "l": {"type": "array", "items": RESOURCE}, "m": {"type": "object", "additionalProperties": RESOURCE}},
}


def test_metadata_takes_its_typed_form() -> None:
    """Unknown fields go, and are told with their full path; empty ones go too."""
    obj = {
        "metadata": {"bogus": 1},
        "e": {"metadata": {"name": "a", "bogus": 1, "labels": {}}, "spec": {"metadata": {"bogus": 1}}},
        "l": [{"metadata": {"creationTimestamp": None, "x": 1}}],
        "m": {"k": {"metadata": {"ownerReferences": [{"x": 1}]}}},
    }
    unknown = coerce(obj, Structural(SCHEMA), resource_root=False, report=True)

    assert obj == {
        "metadata": {"bogus": 1},
        "e": {"metadata": {"name": "a"}, "spec": {"metadata": {"bogus": 1}}},
        "l": [{"metadata": {}}],
        "m": {"k": {"metadata": {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}}},
    }
    assert unknown == ["e.metadata.bogus", "l[0].metadata.x", "m[k].metadata.ownerReferences[0].x"]


@pytest.mark.parametrize(
    "value, message",
    [
        ({"kind": 1}, "e.kind: Invalid value: 1: must be a string"),
        ({"apiVersion": None}, "e.apiVersion: Invalid value: null: must be a string"),
        (
            {"metadata": {"name": 5}},
            'e.metadata: Invalid value: {"name":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
        ),
        ({"metadata": "x"}, 'e.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta'),
    ],
)
def test_wrong_types(value: Any, message: str) -> None:
    """What has a wrong type is refused, or dropped if that is asked for."""
    obj = {"e": value}
    with pytest.raises(CoercionError) as raised:
        coerce(obj, Structural(SCHEMA), resource_root=False)
    coerce(obj, Structural(SCHEMA), resource_root=False, drop_invalid=True)

    assert message == str(raised.value)
    assert obj["e"] in ({}, {"metadata": {}}, {"metadata": "x"})


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"apiVersion": "v1", "kind": "Pod"}, []),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}, []),
        ({}, ["e.apiVersion: Required value", "e.kind: Required value"]),
        (
            {"apiVersion": "a/b/c", "kind": ""},
            [
                'e.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                'e.kind: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"apiVersion": "v1", "kind": "1"},
            [
                (
                    'e.kind: Invalid value: "1": may have mixed case, but should otherwise match: a DNS-1035 label must consist of'
                    " lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric"
                    " character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                )
            ],
        ),
        ({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a/b"}}, ["e.metadata.name: Invalid value: \"a/b\": may not contain '/'"]),
    ],
)
def test_embedded_resources_are_validated(value: Any, expected: list[str]) -> None:
    """Type is required, metadata is not, but must be good if it is there."""
    assert expected == [str(error) for error in resource_errors({"e": value}, Structural(SCHEMA), resource_root=False)]


def test_the_root_is_looked_at_when_asked() -> None:
    """The schema of a whole object makes the root a resource."""
    assert [str(error) for error in resource_errors({}, None, resource_root=True)] == ["apiVersion: Required value", "kind: Required value"]
