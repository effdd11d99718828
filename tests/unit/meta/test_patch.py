"""JSON patches and merge patches as the reference's library applies them."""

import json
from typing import Any

import pytest

from apiext.meta import patch
from apiext.meta.errors import StatusError

REFUSED = "the server rejected our request due to an error in our request"


def _apply(document: Any, *operations: dict[str, Any]) -> Any:
    parsed, _ = patch.parse_json_patch(json.loads(json.dumps(operations)))
    return patch.json_patch(document, parsed)


@pytest.mark.parametrize(
    "document, operation, patched",
    [
        ({}, {"op": "add", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/0", "value": 2}, {"a": [2, 1]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-1", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a/b": {"~": 1}}, {"op": "remove", "path": "/a~1b/~0"}, {"a/b": {}}),
        ({"~1": 1}, {"op": "remove", "path": "/~01"}, {}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/-1"}, {"a": [1]}),
        ({}, {"op": "replace", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": 1}, {"op": "replace", "path": "", "value": {"b": 1}}, {"b": 1}),
        ({"a": 1}, {"op": "add", "path": "/b"}, {"a": 1, "b": None}),
        ({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "c": 1}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/c"}, {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a": 1}, {"op": "copy", "from": "/x", "path": "/c"}, {"a": 1, "c": None}),
        ({"a": 1}, {"op": "test", "path": "/x", "value": None}, {"a": 1}),
        ({"a": [1, {"b": "c"}]}, {"op": "test", "path": "", "value": {"a": [1, {"b": "c"}]}}, {"a": [1, {"b": "c"}]}),
    ],
)
def test_applies_json_patches(document: Any, operation: dict[str, Any], patched: Any) -> None:
    """Apply each operation with the library's tolerance."""
    before = json.dumps(document)

    assert _apply(document, operation) == patched
    assert json.dumps(document) == before


@pytest.mark.parametrize(
    "document, operation",
    [
        ({}, {"op": "remove", "path": "/a"}),
        ({}, {"op": "add", "path": "/a/b", "value": 1}),
        ({}, {"op": "add", "path": "a", "value": 1}),
        ({"a": "text"}, {"op": "add", "path": "/a/b", "value": 1}),
        ({"a": [1]}, {"op": "add", "path": "/a/3", "value": 1}),
        ({"a": [1]}, {"op": "replace", "path": "/a/1", "value": 1}),
        ({"a": [1]}, {"op": "remove", "path": "/a/x"}),
        ({"a": [1]}, {"op": "remove", "path": "/a/99999999999999999999"}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": True}),
        ({"a": 1}, {"op": "test", "path": "/a"}),
        ({"a": 1}, {"op": "replace", "path": "", "value": 5}),
        ({}, {"op": "move", "from": "/a", "path": "/b"}),
        ({}, {"op": "frobnicate", "path": "/b"}),
        ({}, {"path": "/b"}),
        ({}, {"op": "add"}),
        ({}, {"op": "copy", "path": "/b"}),
    ],
)
def test_rejects_json_patches_that_do_not_apply(document: Any, operation: dict[str, Any]) -> None:
    """Raise a 422 without a reason."""
    with pytest.raises(StatusError) as refused:
        _apply(document, operation)

    assert (refused.value.code, refused.value.reason, refused.value.message) == (422, "Invalid", REFUSED)
    assert refused.value.details == {}


@pytest.mark.parametrize(
    "data, strict, message",
    [
        (b"{}", False, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (b"[5]", False, "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
        (b"{}", True, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (
            b'[{"op": 5}]',
            True,
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
    ],
)
def test_rejects_other_documents_as_json_patch(data: bytes, strict: bool, message: str) -> None:  # noqa: FBT001
    """Raise a 400 for anything but a list of operations."""
    with pytest.raises(StatusError) as refused:
        patch.parse_json_patch(json.loads(data), strict=strict)

    assert (refused.value.code, refused.value.message) == (400, message)


def test_limits_json_patches() -> None:
    """Accept ten thousand operations and copies of up to 3 MiB."""
    with pytest.raises(StatusError) as refused:
        patch.parse_json_patch([{"op": "test"}] * 10_001)
    assert refused.value.code == 413
    assert "maximum operations in a JSON patch is 10000, got 10001" in refused.value.message

    doubling = [{"op": "copy", "from": "", "path": "/a"}] * 2
    assert _apply({}, {"op": "add", "path": "/a", "value": 1})
    with pytest.raises(StatusError):
        _apply({"a": "x" * 1_100_000}, *[{"op": "copy", "from": "/a", "path": f"/b{i}"} for i in range(3)], *doubling)


def test_reports_unknown_members_of_operations() -> None:
    """Report unknown members with strict decoding."""
    _, warnings = patch.parse_json_patch([{"op": "add", "path": "/a", "value": 1, "foo": 2}])

    assert warnings == ['unknown field "[0].foo"']


@pytest.mark.parametrize(
    "document, change, merged",
    [
        ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"c": None, "e": 3}}, {"a": 1, "b": {"d": 2, "e": 3}}),
        ({"a": 1}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": None}}, {"a": {}}),
        ({"a": {"b": 1}}, {"a": [None, {"c": None}]}, {"a": [None, {"c": None}]}),
        ({"a": 1}, {"a": [None, {"c": None}]}, {"a": [None, {}]}),
        ({"a": None}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_applies_merge_patches(document: Any, change: Any, merged: Any) -> None:
    """Remove nulls, merge objects and replace everything else."""
    before = json.dumps(document)

    assert patch.merge_patch(document, change) == merged
    assert json.dumps(document) == before


@pytest.mark.parametrize(
    "data, strict, message",
    [
        (b"[]", True, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"null", True, "Invalid JSON Patch"),
        (b"5", False, "Invalid JSON Patch"),
    ],
)
def test_rejects_other_documents_as_merge_patch(data: bytes, strict: bool, message: str) -> None:  # noqa: FBT001
    """Raise a 400 for anything but an object."""
    with pytest.raises(StatusError) as refused:
        patch.parse_merge_patch(json.loads(data), strict=strict)

    assert (refused.value.code, refused.value.message) == (400, message)
