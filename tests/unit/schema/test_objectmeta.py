"""Coercion and validation of embedded resources."""

from typing import Any

import pytest

from apiext.schema.embedded_metadata import CoercionError, coerce, resource_errors
from apiext.schema.model import Structural

RESOURCE = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
SCHEMA = {
    "type": "object",
    "properties": {"e": RESOURCE, "l": {"type": "array", "items": RESOURCE}, "m": {"type": "object", "additionalProperties": RESOURCE}},
}


def test_coerces_metadata() -> None:
    """Drop unknown fields and report their full paths; drop empty fields."""
    obj = {
        "metadata": {"bogus": 1},
        "e": {"metadata": {"name": "a", "bogus": 1, "labels": {}}, "spec": {"metadata": {"bogus": 1}}},
        "l": [{"metadata": {"creationTimestamp": None, "x": 1}}],
        "m": {"k": {"metadata": {"ownerReferences": [{"x": 1}]}}},
    }
    unknown = coerce(obj, Structural(SCHEMA), report=True)

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
def test_rejects_or_drops_wrong_types(value: Any, message: str) -> None:
    """Reject values of a wrong type, or drop them on request."""
    obj = {"e": value}
    with pytest.raises(CoercionError) as raised:
        coerce(obj, Structural(SCHEMA))
    coerce(obj, Structural(SCHEMA), drop_invalid=True)

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
def test_validates_embedded_resources(value: Any, expected: list[str]) -> None:
    """Require the type, and validate metadata if it is present."""
    assert expected == [str(error) for error in resource_errors({"e": value}, Structural(SCHEMA))]


def test_validates_the_root_on_request() -> None:
    """Treat the root as a resource in the schema of a whole object."""
    assert [str(error) for error in resource_errors({}, Structural(None).as_resource())] == [
        "apiVersion: Required value",
        "kind: Required value",
    ]
