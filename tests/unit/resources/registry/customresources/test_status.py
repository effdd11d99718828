"""The status subresource."""

from typing import Any

import pytest

from tests.support.refusals import refusal
from tests.unit.resources.registry.conftest import Widgets

NO_OBJECT = "accessor error: 5 is of the type int64, expected map[string]interface{}"


async def test_only_the_status_changes(widgets: Widgets) -> None:
    """Keep spec, labels and generation."""
    obj = await widgets.create("a", spec={"color": "red"})
    sent = obj | {"status": {"replicas": 4}, "spec": {"color": "blue"}, "metadata": {**obj["metadata"], "labels": {"a": "b"}}}

    updated = await widgets.put(sent, rest=widgets.status_rest)

    version = updated["metadata"]["resourceVersion"]
    assert updated == obj | {"status": {"replicas": 4}, "metadata": {**obj["metadata"], "resourceVersion": version}}


async def test_removes_an_absent_status(widgets: Widgets) -> None:
    """Remove the status if the body has none."""
    status = widgets.status_rest
    obj = await widgets.put(await widgets.create("a") | {"status": {"replicas": 4}}, rest=status)
    del obj["status"]

    assert "status" not in await widgets.put(obj, rest=status)


async def test_keeps_recorded_managers(widgets: Widgets) -> None:
    """Store the managedFields that the update recorded, and nothing else of the metadata."""
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {}}}
    obj = await widgets.create("a")
    sent = obj | {"metadata": {**obj["metadata"], "managedFields": [entry], "labels": {"a": "b"}}, "status": {"replicas": 4}}

    updated = await widgets.put(sent, rest=widgets.status_rest)

    assert updated["metadata"]["managedFields"] == [entry]
    assert "labels" not in updated["metadata"]


@pytest.mark.parametrize(
    "status, message",
    [
        (
            {"replicas": "x"},
            (
                '[status.replicas: Invalid value: "string": replicas in body must be of type integer: "string", '
                ".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64]"
            ),
        ),
        ({"replicas": -4}, ".status.replicas: Invalid value: -4: should be a non-negative integer"),
        (
            5,
            (
                '[status: Invalid value: "integer":  in body must be of type object: "integer", '
                f".status.replicas: Invalid value: 0: .status.replicas {NO_OBJECT}, "
                f'.status.selector: Invalid value: "": .status.selector {NO_OBJECT}]'
            ),
        ),
    ],
)
async def test_rejects_an_invalid_status(widgets: Widgets, status: Any, message: str) -> None:
    """Validate the status by its part of the schema."""
    obj = await widgets.create("a")
    refused = await refusal(widgets.put(obj | {"status": status}, rest=widgets.status_rest))

    assert refused.message == f'Widget.example.com "a" is invalid: {message}'
