"""Schemas that were validated before."""

from typing import Any

import pytest

from apiext.resources.definitions.validation import known_schemas
from apiext.resources.definitions.validation.definition import validate_create, validate_update
from apiext.resources.definitions.validation.known_schemas import VALID, VALID_IF_STORED, KnownSchemas, digest
from tests.unit.resources.definitions.recorded import body, decoded

VALID_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}


def crd(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a definition with a schema."""
    obj = body()
    obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    return decoded(obj)


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    VALID.clear()
    VALID_IF_STORED.clear()


def test_digest_of_equal_schemas() -> None:
    """Return the same digest for another order of members, another one for other values, and for 1 and 1.0."""
    other_order = {"properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "type": "object"}

    assert digest(VALID_SCHEMA) == digest(other_order)
    assert len({digest({"default": value}) for value in (1, 1.0, "1", True, [1])}) == 5


def test_knows_the_last_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the digest that was used least recently."""
    monkeypatch.setattr(known_schemas, "MAX_KNOWN", 2)
    known = KnownSchemas()
    for of in (b"a", b"b"):
        known.add(of)

    assert b"a" in known
    known.add(b"c")

    assert [of for of in (b"a", b"b", b"c") if of in known] == [b"a", b"c"]


def test_remembers_valid_schemas_only() -> None:
    """Validate an invalid schema again, with the same errors."""
    invalid = crd({"type": "object", "properties": {"a": {}}})

    first, second = map(str, validate_create(invalid)), map(str, validate_create(invalid))

    assert list(first) == list(second) != []
    assert digest({"type": "object", "properties": {"a": {}}}) not in VALID


def test_defaults_lose_unknown_metadata_each_time() -> None:
    """Drop unknown fields of embedded metadata in defaults from each definition, not only from the first one with a schema."""
    default = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "unknown": 1}}
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}

    created, updated = [], []
    for _ in range(2):
        new, old = (crd({"type": "object", "properties": {"a": embedded | {"default": default}}}) for _ in range(2))
        assert validate_create(new) == []
        created.append(new)
        changed = crd({"type": "object", "properties": {"a": embedded | {"default": default}}})
        changed["metadata"]["resourceVersion"] = "1"
        assert validate_update(changed, old) == []
        updated.append(changed)

    for each in created + updated:
        schema = each["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert schema["properties"]["a"]["default"]["metadata"] == {"name": "a"}


def test_update_does_not_make_schemas_valid_for_creation() -> None:
    """Know a schema that an update left unchanged for such updates only: limits of costs do not apply to these."""
    costly = {
        "type": "array",
        "maxItems": 2000,
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}],
    }
    stored = crd({"type": "object", "properties": {"a": costly}})

    stored["metadata"]["resourceVersion"] = "1"

    accepted = [validate_update(stored, stored) for _ in range(2)]
    refused = validate_create(stored)

    assert accepted == [[], []]
    assert ["estimated rule cost" in error.detail for error in refused] == [True]
