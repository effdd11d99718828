"""The webhook of hack/soak."""

import json
from typing import Any

import pytest

from hack.lib.soak import webhook

_REVIEW = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
_OBJECTS = [{"apiVersion": "a.example/v1", "kind": "A", "metadata": {"name": name}} for name in ("a", "b")]


def answer(how: str) -> tuple[int, dict[str, Any]]:
    """Return the size and the response of an answer."""
    request = {"uid": "1", "desiredAPIVersion": "a.example/v2", "objects": _OBJECTS}
    data = webhook._answer(json.dumps(_REVIEW | {"request": request}).encode(), webhook._CHANGES[how])
    return len(data), json.loads(data)["response"]


def test_converts() -> None:
    """Answer with the objects in the desired version."""
    _, response = answer("well")

    assert response == {
        "uid": "1",
        "convertedObjects": [{**obj, "apiVersion": "a.example/v2"} for obj in _OBJECTS],
        "result": {"status": "Success"},
    }


@pytest.mark.parametrize(
    "how,least", [("large", 14 << 20), ("too-large", 16 << 20), ("grown", 7 << 20), ("message", 12 << 20), ("uid", 12 << 20)]
)
def test_prepared_answers(how: str, least: int) -> None:
    """Answer with valid JSON of many bytes."""
    size, response = answer(how)

    assert size > least
    assert len(response["convertedObjects"]) == 2


def test_many_objects() -> None:
    """Answer with more objects than were sent, in fewer bytes than a server reads."""
    size, response = answer("many")

    assert size < 3 << 20
    assert len(response["convertedObjects"]) == 10_000


def test_many_labels() -> None:
    """Give each object many labels."""
    _, response = answer("labels")

    assert [len(obj["metadata"]["labels"]) for obj in response["convertedObjects"]] == [2_000, 2_000]
