"""Tests of the errors about objects that violate their schema."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.schema.compiled import CompiledSchema
from hack.lib.differential.generated_objects import generate, mutate
from hack.lib.differential.pair import Side, Step, wait_for_removal
from hack.lib.servers.controlplane import ControlPlane
from tests.support.builders.crds import crd, version
from tests.support.builders.seeds import seeded

pytestmark = pytest.mark.slow

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OBJECTS = 400
SETTLE = 200
"""Attempts until a new resource is served."""

INTSTR = {"x-kubernetes-int-or-string": True}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 6, "pattern": "^[a-z]+$"},
        "count": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10},
        "even": {"type": "integer", "multipleOf": 2, "nullable": True},
        "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1.5},
        "mode": {"type": "string", "enum": ["on", "off"], "default": "on"},
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date", "nullable": True},
        "port": INTSTR | {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "flag": {"type": "boolean"},
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}, "maxProperties": 3},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "maxItems": 4},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["number", "protocol"],
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["number"],
                "properties": {"number": {"type": "integer", "minimum": 1}, "protocol": {"type": "string", "default": "TCP"}},
            },
        },
        "template": EMBEDDED,
        "choice": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"minimum": 3}}}],
        },
        "some": {
            "type": "object",
            "minProperties": 1,
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "anyOf": [{"required": ["a"]}, {"properties": {"b": {"maximum": 2}}}],
            "not": {"required": ["a", "b"]},
            "allOf": [{"properties": {"a": {"minimum": 1}}}],
        },
    },
}
SCHEMA = {"type": "object", "properties": {"spec": SPEC}}


@pytest.fixture(scope="module")
def reference(control_plane: ControlPlane) -> Iterator[Side]:
    """Create the definition of Odds on the reference."""
    side = Side(control_plane.url, control_plane.ssl_context())
    odds = crd("odds", version("v1", storage=True, schema=SCHEMA), kind="Odd", group="schema.example.com", scope="Cluster")
    response, data = side.raw(Step("POST", DEFINITIONS, odds))
    assert response.status == http.client.CREATED, data
    for _ in range(SETTLE):
        if side.raw(Step("GET", "/apis/schema.example.com/v1/odds"))[0].status == http.client.OK:
            break
    yield side
    path = f"{DEFINITIONS}/odds.schema.example.com"
    side.raw(Step("DELETE", path))
    wait_for_removal(side, path)
    side.close()


def _causes(status: Any) -> list[tuple[str, str, str]]:
    causes = status.get("details", {}).get("causes", [])
    return sorted((cause["field"], cause["reason"], cause["message"]) for cause in causes)


def _ours(obj: dict[str, Any]) -> list[tuple[str, str, str]]:
    schema = CompiledSchema(SCHEMA)
    decoded = json_codec.loads(json.dumps(obj).encode())
    schema.coerce(decoded)
    schema.default(decoded)
    errors = [*schema.validate_values(decoded), *schema.validate_resources(decoded), *schema.validate_lists(decoded)]
    return sorted((error.field, error.type.reason, error.body()) for error in errors)


def test_returns_the_errors_of_the_reference(reference: Side) -> None:
    """Refuse hundreds of invalid objects with equal causes."""
    rng = seeded("the reference")
    refused = 0
    for index in range(OBJECTS):
        spec: Any = generate(SPEC, rng)
        for _ in range(1 + index % 3):
            spec = mutate(spec, SPEC, rng)
        obj = {"apiVersion": "schema.example.com/v1", "kind": "Odd", "metadata": {"name": "odd"}, "spec": spec}
        response, data = reference.raw(Step("POST", "/apis/schema.example.com/v1/odds?dryRun=All", obj))
        status = json.loads(data)
        if response.status == http.client.BAD_REQUEST:
            continue  # Unreadable embedded metadata fails in decoding, not in validation.
        refused += response.status == http.client.UNPROCESSABLE_ENTITY

        assert _ours(obj) == _causes(status), obj

    assert refused > OBJECTS // 3
