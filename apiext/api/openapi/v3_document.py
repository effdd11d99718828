"""The OpenAPI v3 document of a group and version.

Mirrors kube-openapi pkg/builder3 and MergeSpecsV3 of apiextensions-apiserver's OpenAPI builder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from apiext.api.openapi import naming
from apiext.api.openapi.builtin_definitions import V3_PREFIX, closure, references
from apiext.api.openapi.operations import Operation
from apiext.api.openapi.parameters import Parameter
from apiext.api.openapi.schemas import Schema
from apiext.base.meta.gvk import GroupVersion

_OBJECT_META: Final = f"{naming.META}.ObjectMeta"
_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
TOKEN: Final = {"description": "Bearer Token authentication", "type": "apiKey", "name": "authorization", "in": "header"}
"""The security scheme of bearer tokens."""


def build(
    paths: Mapping[str, list[Operation]], definitions: dict[str, Schema], groups: Iterable[GroupVersion], *, version: str = ""
) -> dict[str, Any]:
    """Build the document of the operations by path; `definitions` describe the custom kinds.

    A document of built-in resources has the `version` of the server. `groups` are the groups and versions of common kinds such as
    DeleteOptions.
    """
    used = models(paths)
    for definition in definitions.values():
        # a kind without a schema has no reference to it
        used.update(references(definition), (_OBJECT_META,))
    components: dict[str, Any] = {"schemas": dict(sorted({**closure(used, groups), **definitions}.items()))}
    if version:
        components["securitySchemes"] = {"BearerToken": TOKEN}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": version} if version else _INFO,
        "paths": {path: _path(path_operations) for path, path_operations in paths.items()},
        "components": components,
    }


def _path(path_operations: list[Operation]) -> dict[str, Any]:
    common = common_parameters(path_operations)
    item: dict[str, Any] = {operation.method: _operation(operation, common) for operation in path_operations}
    if common:
        item["parameters"] = [_parameter(parameter) for parameter in sorted(common)]
    return item


def models(paths: Mapping[str, list[Operation]]) -> set[str]:
    """Return the definition names of all bodies and responses."""
    return {name for path_operations in paths.values() for operation in path_operations for name in (operation.body, operation.response)}


def common_parameters(path_operations: list[Operation]) -> set[Parameter]:
    """Return the parameters of all operations of a path."""
    counted = Counter(parameter for operation in path_operations for parameter in operation.parameters)
    return {parameter for parameter, count in counted.items() if count == len(path_operations)}


def _operation(operation: Operation, common: set[Parameter]) -> dict[str, Any]:
    document: dict[str, Any] = {"tags": [operation.tag], "description": operation.description, "operationId": operation.id}
    own = [_parameter(parameter) for parameter in operation.parameters if parameter not in common]
    if own:
        document["parameters"] = own
    if operation.body:
        document["requestBody"] = {"content": _content(operation.body, operation.consumes)}
        if operation.body_required:
            document["requestBody"]["required"] = True
    content = _content(operation.response, operation.produces)
    responses: dict[str, Any] = {str(code): {"description": text, "content": content} for code, text in operation.codes}
    document["responses"] = {**responses, "401": {"description": "Unauthorized"}}
    return document | extensions(operation)


def extensions(operation: Operation) -> dict[str, Any]:
    """Return the extensions with action and kind of an operation."""
    if operation.kind is None:
        return {}
    return {"x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": operation.kind._asdict()}


def _content(model: str, types: Iterable[str]) -> dict[str, Any]:
    schema = {"schema": {"$ref": V3_PREFIX + model}}
    return dict.fromkeys(sorted(types), schema)


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        **({"required": True} if parameter.required else {}),
        "schema": {"type": parameter.type, "uniqueItems": True},
    }
