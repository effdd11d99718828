"""The OpenAPI v2 document of all resources.

Mirrors kube-openapi pkg/builder (with its shared parameters) and MergeSpecs of apiextensions-apiserver's OpenAPI builder.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Final

from apiext.api.openapi import naming
from apiext.api.openapi.builtin_definitions import V3_PREFIX, closure, references
from apiext.api.openapi.custom_resources import V2_PREFIX
from apiext.api.openapi.operations import Operation
from apiext.api.openapi.parameters import Parameter
from apiext.api.openapi.schemas import Schema
from apiext.api.openapi.v3_document import TOKEN, common_parameters, extensions, models
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupVersion

_UNSHARED: Final = frozenset({"name", "fieldValidation", "dryRun"})
"""Parameters that are not shared: old clients read them from the operation."""
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3


def build(
    paths: Mapping[str, list[Operation]], definitions: dict[str, Schema], groups: Iterable[GroupVersion], version: str
) -> dict[str, Any]:
    """Build the document of the operations by path; `definitions` describe the custom kinds, in v2.

    `groups` are the groups and versions of common kinds such as DeleteOptions.
    """
    used = models(paths) | {f"{naming.META}.{name}" for name in ("ObjectMeta", "ListMeta")}
    shared: dict[str, Any] = {}
    items = {path: _path(path_operations, shared) for path, path_operations in paths.items()}
    builtin = {name: _to_v2(schema) for name, schema in closure(used, groups).items()}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": items,
        "definitions": dict(sorted({**builtin, **definitions}.items())),
        "parameters": dict(sorted(shared.items())),
        "securityDefinitions": {"BearerToken": TOKEN},
        "security": [{"BearerToken": []}],
    }


def _to_v2(schema: Any) -> Any:
    """Convert a built-in definition to v2: references beside other fields, no defaults."""
    if isinstance(schema, list):
        return [_to_v2(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, member in schema.items():
        if key == "properties":
            plain[key] = {name: _to_v2(child) for name, child in member.items()}
        elif key == "allOf" and len(member) == 1 and "$ref" in member[0]:
            plain["$ref"] = V2_PREFIX + next(references(member))
        elif key == "$ref":
            plain[key] = V2_PREFIX + member.removeprefix(V3_PREFIX)
        elif key != "default":
            plain[key] = _to_v2(member)
    return plain


def _path(path_operations: list[Operation], shared: dict[str, Any]) -> dict[str, Any]:
    common = common_parameters(path_operations)
    item: dict[str, Any] = {operation.method: _operation(operation, common, shared) for operation in path_operations}
    if common:
        item["parameters"] = [_parameter(parameter, shared) for parameter in sorted(common)]
    return item


def _operation(operation: Operation, common: set[Parameter], shared: dict[str, Any]) -> dict[str, Any]:
    parameters = [_parameter(parameter, shared) for parameter in operation.parameters if parameter not in common]
    if operation.body:
        parameters.insert(0, _body(operation, shared))
    schema = {"$ref": V2_PREFIX + operation.response}
    responses: dict[str, Any] = {str(code): {"description": text, "schema": schema} for code, text in operation.codes}
    return {
        "description": operation.description,
        "consumes": list(operation.consumes),
        "produces": list(operation.produces),
        "schemes": ["https"],
        "tags": [operation.tag],
        "operationId": operation.id,
        **({"parameters": parameters} if parameters else {}),
        "responses": {**responses, "401": {"description": "Unauthorized"}},
        **extensions(operation),
    }


def _body(operation: Operation, shared: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"name": "body", "in": "body"}
    if operation.body_required:
        body["required"] = True
    body["schema"] = {"$ref": V2_PREFIX + operation.body}
    return _share(body, shared) if operation.body.startswith("io.k8s.apimachinery") else body


def _parameter(parameter: Parameter, shared: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "uniqueItems": True,
        "type": parameter.type,
        "description": parameter.description,
        "name": parameter.name,
        "in": parameter.place,
        **({"required": True} if parameter.required else {}),
    }
    return document if parameter.name in _UNSHARED else _share(document, shared)


def _share(document: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """Add a parameter to the shared ones, and return a reference to it."""
    name = f"{document['name']}-{_short_hash(json_codec.dumps(document))}"
    shared[name] = document
    return {"$ref": f"#/parameters/{name}"}


def _short_hash(data: bytes) -> str:
    """Return the first six bytes of the FNV-1 hash in URL-safe base64."""
    digest = _FNV_OFFSET
    for byte in data:
        digest = (digest * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF ^ byte
    return base64.urlsafe_b64encode(digest.to_bytes(8, "big")[:6]).decode()
