"""Tests of objects that are too large to be stored."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.hostile_values import CRD, DRY, GROUP, PATH
from tests.differential.helpers.differences import assert_none

pytestmark = pytest.mark.slow

_SMALL: Final = 1_000_000
_LARGE: Final = 1_600_000
_MANAGERS: Final = [
    {
        "manager": f"m{number}",
        "operation": "Update",
        "apiVersion": f"{GROUP}/v1",
        "time": "2020-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {f"f:{'y' * 100_000}": {}}},
    }
    for number in range(8)
]
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}


def _thing(name: str, size: int, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Thing",
        "metadata": {"name": name, **metadata},
        "spec": {"any": "x" * size},
    }


def _steps() -> Iterator[Step]:
    yield Step("POST", PATH, _thing("large", _LARGE))
    yield Step("POST", PATH, _thing("large", _LARGE, managedFields=_MANAGERS))
    yield Step("POST", PATH + DRY, _thing("large", _LARGE))
    # The reference's client sends no request of more than 2 MiB; the message names the exact size.
    for size in (2_096_100, 2_097_100, 2_500_000):
        yield Step("POST", PATH, _thing("large", size))
        yield Step("POST", PATH, _thing("l" * 100, size, managedFields=_MANAGERS[:1]))
    yield Step("GET", f"{PATH}/large")
    yield Step("POST", PATH, _thing("managed", _SMALL, managedFields=_MANAGERS))
    yield Step("POST", PATH, _thing("a", 1))
    current: Final = {"resourceVersion": f"{{rv:{PATH}/a}}"}
    for managers in ({}, {"managedFields": _MANAGERS}):
        yield Step("PUT", f"{PATH}/a", _thing("a", _LARGE, **current, **managers))
        yield Step("PATCH", f"{PATH}/a", _thing("a", _LARGE, **managers), _MERGE)
        yield Step("PATCH", f"{PATH}/a", [{"op": "replace", "path": "/spec/any", "value": "x" * _LARGE}], _JSON_PATCH)
        yield Step("PATCH", f"{PATH}/a{DRY}", _thing("a", _LARGE, **managers), _MERGE)
        yield Step("GET", f"{PATH}/a")
    yield Step("PUT", f"{PATH}/a", _thing("a", _SMALL, **current, managedFields=_MANAGERS))
    yield Step("PATCH", f"{PATH}/a", _thing("a", _SMALL + 1, managedFields=_MANAGERS), _MERGE)
    # an apply never loses the managers
    fields = {"map": {f"{number}{'k' * 100}": "x" for number in range(6000)}}
    for manager in ("x", "y", "z", "z"):
        body = _thing("applied", 1) | {"spec": {"any": fields}}
        yield Step("PATCH", f"{PATH}/applied?fieldManager={manager}", body, {"Content-Type": "application/apply-patch+yaml"})
    # a patch that adds to what is stored
    yield Step("PATCH", f"{PATH}/a", {"spec": {"any": {"a": "x" * _SMALL}}}, _MERGE)
    yield Step("PATCH", f"{PATH}/a", {"spec": {"any": {"b": "x" * _SMALL}}}, _MERGE)
    yield Step("GET", f"{PATH}/a")


def test_refuses_large_objects(pair: Pair) -> None:
    """Answer alike to writes of objects that are too large, or are only with their managedFields."""
    with pair.served(CRD):
        assert_none([line[:2000] for step in _steps() for line in pair.differences(step)])
