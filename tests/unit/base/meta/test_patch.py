"""JSON patches and merge patches as the reference's library applies them."""

import json
from typing import Any

import pytest

from apiext.base.meta import patch
from apiext.base.meta.errors import StatusError

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
    "operation, text",
    [
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        ({"op": "add", "path": 1}, "add operation failed to decode path: missing value"),
        ({"op": "add", "path": "/x/y", "value": 1}, 'add operation does not apply: doc is missing path: "/x/y": missing value'),
        ({"op": "add", "path": "", "value": 1}, 'add operation does not apply: doc is missing path: "": missing value'),
        ({"op": "add", "path": "/s/y", "value": 1}, 'add operation does not apply: doc is missing path: "/s/y": missing value'),
        (
            {"op": "add", "path": "/l/x", "value": 1},
            "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (
            {"op": "add", "path": "/l/2", "value": 1},
            "error in add for path: '/l/2': Unable to access invalid index: 2: invalid index referenced",
        ),
        ({"op": "remove"}, "remove operation failed to decode path: missing value"),
        ({"op": "remove", "path": "/x/y"}, 'remove operation does not apply: doc is missing path: "/x/y": missing value'),
        ({"op": "remove", "path": "/x"}, "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value"),
        ({"op": "remove", "path": "/l/x"}, "error in remove for path: '/l/x': strconv.Atoi: parsing \"x\": invalid syntax"),
        (
            {"op": "remove", "path": "/l/99999999999999999999"},
            "error in remove for path: '/l/99999999999999999999': strconv.Atoi: parsing \"99999999999999999999\": value out of range",
        ),
        ({"op": "replace"}, "replace operation failed to decode path: operation missing path field: missing value"),
        (
            {"op": "replace", "path": 1},
            "replace operation failed to decode path: json: cannot unmarshal number into Go value of type string",
        ),
        ({"op": "replace", "path": "", "value": 1}, "replace operation value must be object or array: %!w(<nil>)"),
        ({"op": "replace", "path": "/x/y"}, "replace operation does not apply: doc is missing path: /x/y: missing value"),
        ({"op": "replace", "path": "/l/3"}, "replace operation does not apply: doc is missing key: /l/3: missing value"),
        ({"op": "move"}, "move operation failed to decode from: operation, missing from field: missing value"),
        ({"op": "move", "from": "/x/y"}, "move operation does not apply: doc is missing from path: /x/y: missing value"),
        ({"op": "move", "from": "/x"}, "error in move for path: 'x': Unable to remove nonexistent key: x: missing value"),
        ({"op": "move", "from": "/s"}, "move operation failed to decode path: operation missing path field: missing value"),
        (
            {"op": "move", "from": "/s", "path": "/x/y"},
            "move operation does not apply: doc is missing destination path: /x/y: missing value",
        ),
        ({"op": "copy"}, "copy operation failed to decode from: operation, missing from field: missing value"),
        ({"op": "copy", "from": "/x/y"}, "copy operation does not apply: doc is missing from path: /x/y: missing value"),
        ({"op": "copy", "from": "/s"}, "copy operation failed to decode path: missing value"),
        (
            {"op": "copy", "from": "/s", "path": "/x/y"},
            "copy operation does not apply: doc is missing destination path: /x/y: missing value",
        ),
        (
            {"op": "copy", "from": "/s", "path": "/l/9"},
            "error while adding value during copy: Unable to access invalid index: 9: invalid index referenced",
        ),
        ({"op": "test"}, "test operation failed to decode path: operation missing path field: missing value"),
        ({"op": "test", "path": "/s", "value": "u"}, "testing value /s failed: test failed"),
        ({"op": "test", "path": "/x/y"}, "test operation does not apply: is missing path: /x/y: missing value"),
        ({"op": "test", "path": "/l/7"}, "error in test for path: '/l/7': Unable to access invalid index: 7: invalid index referenced"),
        ({"op": "erase"}, "Unexpected kind: erase"),
        ({"op": 1}, "Unexpected kind: unknown"),
        (None, "Unexpected kind: unknown"),
    ],
)
def test_explains_what_does_not_apply(operation: dict[str, Any] | None, text: str) -> None:
    """Say in the library's words why an operation does not apply."""
    with pytest.raises(patch.PatchError) as caught:
        patch.apply_operations({"s": "t", "l": [1]}, [operation])

    assert str(caught.value) == text


def test_limits_copies() -> None:
    """Say in the library's words that copies make a document too large."""
    double = {"op": "copy", "from": "/s", "path": "/l/-"}

    with pytest.raises(patch.PatchError, match=r"^Unable to complete the copy, the accumulated size increase of copy is 4000008"):
        patch.apply_operations({"s": "t" * 1_000_000, "l": []}, [double] * 10)


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
