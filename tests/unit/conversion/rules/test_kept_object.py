"""Earlier states of objects that rules change in place."""

import copy
from typing import Any

import pytest

from apiext.conversion.rules.kept_object import KeptObject
from apiext.meta.encoding import json_values
from apiext.meta.encoding.json_codec import Object


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def _object(value: Any) -> Object:
    metadata = {"name": "a", "labels": {"x": "1"}}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"a": value, "b": [{"c": 1}]}}


@pytest.mark.parametrize(
    "value", [1, 1.0, True, None, 0.1, -0.0, 1e300, 2**63, 2**64, "ä\u2028<", "\udcff", _nested(300)], ids=lambda value: repr(value)[:12]
)
def test_the_state_is_kept(value: Any) -> None:
    """Return an equal object of the same types after the original has changed in place."""
    obj = _object(value)
    original = copy.deepcopy(obj)

    kept = KeptObject(obj)
    obj["spec"]["b"][0]["c"] = 2
    del obj["spec"]["a"]
    obj["metadata"]["labels"]["x"] = "2"

    assert json_values.equal(kept.take(), original)


@pytest.mark.parametrize("other", [2, True, 1.0, None, "1", "\udcff"])
def test_another_value_is_not_the_same(other: Any) -> None:
    """Tell values of other types apart, which Python finds equal."""
    assert not KeptObject(_object(1)).is_same(_object(other))


def test_the_order_of_members_does_not_matter() -> None:
    """Find an object the same whose members have another order, and whose identity differs: another version has it."""
    obj = _object({"x": 1, "y": [1, 2]})
    other = _object({"y": [1, 2], "x": 1}) | {"apiVersion": "example.com/v2"}

    assert KeptObject(obj).is_same(other)
    assert not KeptObject(obj).is_same(_object({"x": 1, "y": [2, 1]}))


@pytest.mark.parametrize("texts", [{"labels": {"x": "2"}}, {}, {"labels": {"x": "1"}, "annotations": {"y": "1"}}])
def test_labels_and_annotations_count(texts: dict[str, Any]) -> None:
    """Compare the texts of the metadata, which rules may change."""
    assert not KeptObject(_object(1)).is_same(_object(1) | {"metadata": {"name": "a"} | texts})
