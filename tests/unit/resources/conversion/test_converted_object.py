"""Checks of converted objects, and their metadata."""

from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.webhook import check_converted

PREFIX = "conversion webhook for example.com/v1, Kind=Widget returned invalid "


def _object(version: str = "v1", **metadata: Any) -> Object:
    members = {"name": "a", "namespace": "default", "uid": "u"} | metadata
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": members}


@pytest.mark.parametrize(
    "before, returned, after",
    [
        ({"labels": {"a": "1"}}, {"labels": {"a": "2"}, "annotations": {"b": "3"}}, {"labels": {"a": "2"}, "annotations": {"b": "3"}}),
        ({"labels": {"a": "1"}, "annotations": {"b": "2"}}, {}, {}),
        ({"labels": {"a": "1"}}, {"labels": None, "annotations": None}, {}),
        (
            {"finalizers": ["x"], "generation": 2},
            {"finalizers": [], "generation": 3, "selfLink": "/"},
            {"finalizers": ["x"], "generation": 2},
        ),
        ({"labels": {"a b": "odd"}}, {"labels": {"a b": "odd"}}, {"labels": {"a b": "odd"}}),
    ],
)
def test_metadata(before: Object, returned: Object, after: Object) -> None:
    """Take labels and annotations from the webhook, and check them if they changed; restore all else."""
    found = check_converted(_object(**before), _object("v2", **returned), "example.com/v2")

    assert found == _object("v2", **after)


@pytest.mark.parametrize(
    "returned, problem",
    [
        (_object("v2", name="b"), f"{PREFIX}object: must have the same name: a != b"),
        (_object("v2", uid=""), f"{PREFIX}object: must have the same UID: u != "),
        (_object("v2") | {"kind": "Gadget"}, f"{PREFIX}object at index 0: invalid kind (expected Widget, received Gadget)"),
        (_object("v2", labels={"a": 1}), f"{PREFIX}metadata: metadata.labels[a] must be a string, but is int64 in converted object"),
        (_object("v2", annotations=[]), f"{PREFIX}metadata: invalid metadata.annotations of type []interface {{}} in converted object"),
        ("x", "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        ({}, "Object 'Kind' is missing in '{}'"),
    ],
)
def test_refuses(returned: Any, problem: str) -> None:
    """Refuse another object, and metadata of other types."""
    with pytest.raises(ConversionError) as error:
        check_converted(_object(), returned, "example.com/v2")

    assert str(error.value) == problem


def test_refuses_deep_objects() -> None:
    """Refuse an object that is nested too deeply to be written."""
    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(ConversionError, match="must not be nested deeper than 200 levels"):
        check_converted(_object(), _object("v2") | {"spec": deep}, "example.com/v2")
