"""Computes the discovery and OpenAPI documents of definitions, and normalizes them for comparison with the reference."""

import json
from collections.abc import Sequence
from typing import Any, Final

import orjson

from apiext.api.discovery import handler as documents
from apiext.api.discovery.resources import collect
from apiext.api.openapi.handler import merged, sources
from apiext.base.meta.builtin_resources import BUILTINS
from apiext.base.meta.encoding import json_codec
from apiext.resources.definitions.definition import Definition
from tests.support.builders.crds import crd

READ_ONLY: Final = "flowcontrol.apiserver.k8s.io"
"""The group whose objects apiext serves for reading only: those of the host or its own bootstrap objects apply."""
_WRITING: Final = ("create", "delete", "deletecollection", "patch", "update")


class Published:
    """All documents for some definitions and for the built-in types."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self._definitions = definitions
        self.groups = [group for group in collect(definitions, BUILTINS) if group.name]
        self._sources = sources(definitions, BUILTINS)

    @property
    def v3(self) -> dict[str, dict[str, Any]]:
        """Return the OpenAPI v3 documents of custom groups by path."""
        return {path: json.loads(json_codec.dumps(source.v3("1.37"))) for path, source in self._sources.items() if source.customs}

    @property
    def builtin_v3(self) -> dict[str, dict[str, Any]]:
        """Return the OpenAPI v3 documents of built-in groups by path."""
        return {path: json.loads(json_codec.dumps(source.v3("1.37"))) for path, source in self._sources.items() if source.builtins}

    def v2(self) -> dict[str, Any]:
        """Return the OpenAPI v2 document."""
        document: dict[str, Any] = json.loads(json_codec.dumps(merged(self._sources.values()).v2("1.37")))
        return document

    def group_list(self) -> dict[str, Any]:
        """Return the document at /apis."""
        return _plain(documents.api_group_list(self.groups))

    def resource_lists(self) -> dict[str, dict[str, Any]]:
        """Return the documents at /apis/<group>/<version> by path."""
        return {
            f"/apis/{group.name}/{served.version}": _plain(documents.api_resource_list(group.name, served))
            for group in self.groups
            for served in group.versions
        }

    def aggregated(self) -> dict[str, Any]:
        """Return the aggregated discovery document at /apis."""
        return _plain(documents.group_discovery_list(self.groups))


def _plain(document: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = orjson.loads(orjson.dumps(document))
    return plain


def without_texts(node: Any) -> Any:
    """Return a document without descriptions; a property with the name `description` stays."""
    if isinstance(node, dict):
        return {key: without_texts(member) for key, member in node.items() if not (key == "description" and isinstance(member, str))}
    return [without_texts(member) for member in node] if isinstance(node, list) else node


def without_writes(node: Any) -> Any:
    """Return a part of a discovery document without the verbs that write."""
    if isinstance(node, dict):
        return {key: without_writes(member) for key, member in node.items()}
    return [without_writes(member) for member in node if member not in _WRITING] if isinstance(node, list) else node


def with_shared_parameters(document: dict[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """Return the paths of a v2 document with shared parameters inlined: their names depend on descriptions."""

    def resolved(parameters: list[dict[str, Any]]) -> list[dict[str, Any]]:
        shared = document["parameters"]
        found = [shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in parameters]
        return sorted(found, key=lambda one: str(one["name"]))

    items: dict[str, Any] = {}
    for path in paths:
        item = document["paths"][path]
        items[path] = {
            method: resolved(part) if method == "parameters" else {**part, "parameters": resolved(part.get("parameters", []))}
            for method, part in item.items()
        }
    return items


_ANYTHING: Final[dict[str, Any]] = {"x-kubernetes-preserve-unknown-fields": True}
_EMBEDDED: Final[dict[str, Any]] = {"type": "object", "x-kubernetes-embedded-resource": True}
_SPEC: Final[dict[str, Any]] = {
    "type": "object",
    "description": "Everything at once.",
    "required": ["color", "maybe"],
    "x-kubernetes-validations": [{"rule": "self.color != 'pink'", "message": "no pink"}],
    "properties": {
        "replicas": {"type": "integer"},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red", "maxLength": 10},
        "maybe": {"type": "object", "nullable": True, "properties": {"a": {"type": "string"}}},
        "port": {"x-kubernetes-int-or-string": True},
        "percent": {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": "^[0-9]+%?$",
        },
        "limited": {"x-kubernetes-int-or-string": True, "anyOf": [{"minimum": 1}, {"pattern": "x"}]},
        "template": {**_EMBEDDED, **_ANYTHING},
        "strict": {**_EMBEDDED, "properties": {"spec": {"type": "object"}}},
        "open": {"type": "object", **_ANYTHING, "properties": {"known": {"type": "string"}}},
        "openlist": {"type": "array", "items": {"type": "object", **_ANYTHING}},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "number"}},
        "one": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "format": "int64"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "not": {"required": ["c"]},
        },
        "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1.5, "multipleOf": 0.5},
        "odd": {"type": "string", "description": "<a & b>", "externalDocs": {"url": "https://example.com"}},
    },
}


def every_feature() -> dict[str, Any]:
    """Return a definition with every feature in discovery and OpenAPI."""
    status = {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC, "status": status}}}
    loose = {"openAPIV3Schema": {"type": "object", **_ANYTHING}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    selectable = [{"jsonPath": ".spec.color"}]
    subresources = {"status": {}, "scale": scale}
    base = {"served": True, "storage": False}
    versions = [
        {**base, "name": "v1alpha1", "schema": loose},
        {**base, "name": "v1", "schema": schema, "subresources": subresources, "selectableFields": selectable},
        {**base, "name": "v2", "schema": schema, "served": False, "storage": True},
        {**base, "name": "v1beta1", "schema": loose, "deprecated": True},
    ]
    names = {"plural": "everythings", "singular": "everything", "kind": "Everything", "shortNames": ["ev1"], "categories": ["all", "odd"]}
    return crd("everythings", *versions, group="published.example.com", scope="Cluster", names=names)
