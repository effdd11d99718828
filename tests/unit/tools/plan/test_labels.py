"""Bytes that name a version whose fields they do not have."""

from typing import Any

import pytest

from apiext.tools.plan.step_finder import Mislabelled, find_mislabelled, keeping_version, lost_fields
from tests.support.builders.crds import version
from tests.support.builders.plans import WEBHOOK, created, schema, shaped

OLD = created(shaped("v1", "host"), shaped("v2", "host", storage=True))
NEW = created(shaped("v1", "host"), shaped("v2", "address", storage=True), conversion=WEBHOOK)


def test_finds_versions_with_other_fields() -> None:
    """Find stored versions that lose fields, and one that keeps them."""
    assert find_mislabelled(OLD, NEW.object, ["v1", "v2"]) == Mislabelled(("v2",), ("spec.host",), "v1")
    assert find_mislabelled(OLD, NEW.object, ["v1"]) is None


def test_needs_a_switch_to_a_webhook() -> None:
    """Find nothing where the strategy stays."""
    assert find_mislabelled(NEW, NEW.object, ["v1", "v2"]) is None
    assert find_mislabelled(OLD, created(shaped("v1", "host"), shaped("v2", "address", storage=True)).object, ["v1", "v2"]) is None


def test_no_version_keeps_the_fields() -> None:
    """Leave the keeper empty."""
    new = created(shaped("v1", "name"), shaped("v2", "address", storage=True), conversion=WEBHOOK)
    found = find_mislabelled(OLD, new.object, ["v2"])

    assert found is not None
    assert found.keeper == ""


@pytest.mark.parametrize(
    "old,new,lost",
    [
        (schema("a", "b"), schema("a"), ["spec.b"]),
        (schema("a"), schema("a", "b"), []),
        (schema("a"), {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}, []),
        (schema("a"), {"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": {"type": "string"}}}}, []),
        (
            schema(hosts={"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}),
            schema(hosts={"type": "array", "items": {"type": "object", "properties": {"port": {"type": "string"}}}}),
            ["spec.hosts[].name"],
        ),
        (
            schema(tags={"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {}}}}),
            schema(tags={"type": "object", "additionalProperties": {"type": "object"}}),
            ["spec.tags[].x"],
        ),
    ],
)
def test_lost_fields(old: dict[str, Any], new: dict[str, Any], lost: list[str]) -> None:
    """Find the fields that a schema no longer has."""
    assert list(lost_fields(old, new)) == lost


def test_a_version_that_keeps_fields() -> None:
    """Prefer the storage version."""
    assert keeping_version(NEW.object["spec"], OLD.object["spec"]) == "v1"
    assert keeping_version(OLD.object["spec"], OLD.object["spec"]) == "v2"
    other = created(version("v3", storage=True, schema=schema("z")))
    assert keeping_version(OLD.object["spec"], other.object["spec"]) == "v3"
