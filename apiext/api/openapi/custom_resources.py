"""The OpenAPI definitions and the documented resource of a CRD's version.

Mirrors apiextensions-apiserver pkg/controller/openapi/builder (generateBuilder, buildKubeNative, buildListSchema).
"""

from __future__ import annotations

from typing import Final

from apiext.api.openapi import naming, schemas
from apiext.api.openapi.builtin_definitions import V3_PREFIX
from apiext.api.openapi.operations import DocumentedResource
from apiext.api.openapi.schemas import Schema
from apiext.base.meta.field import ROOT
from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.definitions.definition import Definition, Version
from apiext.resources.definitions.validation.schemas import has_invalid_type, nodes
from apiext.schema.model import Props, unsupported_field
from apiext.schema.structural import stored_structural_errors

V2_PREFIX: Final = "#/definitions/"
_OBJECT_META: Final = f"{naming.META}.ObjectMeta"
_LIST_META: Final = f"{naming.META}.ListMeta"
_GVK: Final = "x-kubernetes-group-version-kind"
_SELECTABLE: Final = "x-kubernetes-selectable-fields"


def documented(definition: Definition, version: Version) -> DocumentedResource:
    """Return the resource of a version."""
    names = definition.head["spec"]["names"]
    kind = GroupVersionKind(definition.group, version.name, names["kind"])
    model = naming.model_name(kind)
    actions = ("get", "put", "patch")
    subresources = []
    if version.has_status:
        subresources.append(("status", model, actions, None))
    if version.scale is not None:
        subresources.append(("scale", naming.SCALE, actions, None))
    return DocumentedResource(
        kind=kind,
        plural=names["plural"],
        namespaced=definition.namespaced,
        model=model,
        list_model=naming.model_name(kind._replace(kind=_list_kind(definition))),
        subresources=tuple(subresources),
    )


def definitions(definition: Definition, version: Version, *, v2: bool) -> dict[str, Schema]:
    """Return the definitions of the kind and of its list by name."""
    resource = documented(definition, version)
    selectable = [{"fieldPath": path.removeprefix(".")} for path in version.selectable_fields]
    common = {_SELECTABLE: selectable} if selectable else {}
    kind = _kind_schema(definition, version, v2=v2) | {_GVK: [resource.kind._asdict()]} | common
    return {resource.model: kind, resource.list_model: _list_schema(definition, resource, v2=v2) | common}


def _kind_schema(definition: Definition, version: Version, *, v2: bool) -> Schema:
    props = published_schema(version)
    # kubectl rejects unknown fields if any field is known: without a schema there must be no known field
    if props is None or (v2 and (definition.preserve_unknown_fields or props.get("x-kubernetes-preserve-unknown-fields") is True)):
        return {"type": "object"}
    schema = schemas.v2_schema(props) if v2 else schemas.v3_schema(props)
    schemas.add_object_fields(schema, _reference(_OBJECT_META, "The metadata that every object has.", v2=v2), v2=v2)
    return schema


def published_schema(version: Version) -> Props | None:
    """Return the schema of a version, None if it is not structural: old servers admitted such schemas."""
    props: Props | None = version.schema
    if props is None or unsupported_field(props) or any(map(has_invalid_type, nodes(props))):
        return None
    return None if stored_structural_errors(props, ROOT) else props


def _list_schema(definition: Definition, resource: DocumentedResource, *, v2: bool) -> Schema:
    prefix = V2_PREFIX if v2 else V3_PREFIX
    list_kind = _list_kind(definition)
    return {
        "description": f"{list_kind} is a list of {resource.kind.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": schemas.API_VERSION,
            "kind": schemas.KIND,
            "metadata": _reference(_LIST_META, "The metadata of the list.", v2=v2),
            "items": {"description": f"The {resource.plural}.", "type": "array", "items": {"$ref": prefix + resource.model}},
        },
        _GVK: [resource.kind._replace(kind=list_kind)._asdict()],
    }


def _reference(name: str, description: str, *, v2: bool) -> Schema:
    """Return a reference with a description. In v3 the reference is inside allOf: no other field may stand beside it."""
    if v2:
        return {"description": description, "$ref": V2_PREFIX + name}
    return {"description": description, "allOf": [{"$ref": V3_PREFIX + name}]}


def _list_kind(definition: Definition) -> str:
    names = definition.head["spec"]["names"]
    return str(names.get("listKind") or f"{names['kind']}List")
