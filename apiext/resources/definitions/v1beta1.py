"""The v1beta1 form of a definition, used for storage and in validation errors.

kube-apiserver stores definitions as v1beta1. Schema, subresources, columns and selectable fields that are equal in all versions
appear once, in the spec. The reference's internal type, whose field paths appear in error messages, has the same shape.
Mirrors apiextensions-apiserver pkg/apis/apiextensions/v1/conversion.go and v1beta1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import Raw
from apiext.resources.definitions import types

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

API_VERSION: Final = "apiextensions.k8s.io/v1beta1"

_SHARED: Final = {
    "validation": "schema",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""Fields of the spec that replace fields of the versions if all versions agree; by name, with the field of the versions."""

_SCHEMA: Final = Raw("v1beta1.JSONSchemaProps", keep_order=True)
"""A schema that is not decoded: it was canonical when stored."""
_COLUMN: Final = types.column("JSONPath")

_CONVERSION: Final = struct(
    "CustomResourceConversion",
    "strategy!, webhookClientConfig *WebhookClientConfig, conversionReviewVersions []string",
    types.CLIENT,
    package="v1beta1",
)
_SPEC: Final = struct(
    "CustomResourceDefinitionSpec",
    "group!, version, names! CustomResourceDefinitionNames, scope!, validation *CustomResourceValidation,"
    "subresources *CustomResourceSubresources, versions []CustomResourceDefinitionVersion,"
    "additionalPrinterColumns []CustomResourceColumnDefinition, selectableFields []SelectableField,"
    "conversion *CustomResourceConversion, preserveUnknownFields *bool",
    types.NAMES,
    types.validation(_SCHEMA),
    types.SUBRESOURCES,
    types.version(_SCHEMA, _COLUMN),
    _COLUMN,
    types.SELECTABLE,
    _CONVERSION,
    package="v1beta1",
)

_STORED: Final = types.definition(_SPEC)

_READ_SPEC: Final = types.spec(_SCHEMA)
READ: Final = types.definition(_READ_SPEC)
"""The v1 type without defaulting and decoding of schemas."""


def to_storage(crd: Object) -> Object:
    """Return the stored form of a canonical v1 definition."""
    stored = {**crd, "apiVersion": API_VERSION, "spec": to_v1beta1_spec(crd["spec"])}
    metadata = {key: item for key, item in crd["metadata"].items() if key not in ("resourceVersion", "selfLink")}
    return _STORED.order(stored | {"metadata": metadata})


def from_storage(stored: Object) -> Object:
    """Return the v1 definition for a stored form, canonical as of type READ, with the defaults of v1beta1."""
    crd: Object = _STORED.canonical(stored)
    spec = crd["spec"]
    versions = spec.get("versions") or []
    if not versions and spec.get("version"):
        versions = [{"name": spec["version"], "served": True, "storage": True}]
    for shared, name in _SHARED.items():
        if shared in spec:
            versions = [{**version, name: spec[shared]} for version in versions]
    converted = {
        "group": spec["group"],
        "names": spec["names"],
        "scope": spec["scope"] or "Namespaced",
        "versions": [_rename_column_path(version, "JSONPath", "jsonPath") for version in versions],
        "conversion": _conversion_to_v1(spec.get("conversion")),
        "preserveUnknownFields": spec.get("preserveUnknownFields", True),
    }
    # metadata and status are the same in both
    crd["spec"] = _READ_SPEC.canonical(converted)
    return crd


def to_v1beta1_spec(spec: Object) -> Object:
    """Return the v1beta1 form of a canonical v1 spec. Shares members with it."""
    versions = [_rename_column_path(version, "jsonPath", "JSONPath") for version in spec["versions"] or ()]
    out: Object = {key: spec[key] for key in ("group", "names", "scope")}
    if versions:
        out["version"] = versions[0]["name"]
    for shared, name in _SHARED.items():
        first = versions[0].get(name) if versions else None
        if first not in (None, []) and all(json_values.equal(version.get(name), first) for version in versions):
            out[shared] = first
            for version in versions:
                del version[name]
    if spec["versions"] is not None:
        out["versions"] = versions
    out["conversion"] = _conversion_from_v1(spec["conversion"])
    out["preserveUnknownFields"] = spec.get("preserveUnknownFields", False)
    return _SPEC.order(out)


def _rename_column_path(version: Object, old: str, new: str) -> Object:
    renamed = dict(version)
    if "additionalPrinterColumns" in version:
        columns = version["additionalPrinterColumns"]
        renamed["additionalPrinterColumns"] = [{new if key == old else key: item for key, item in column.items()} for column in columns]
    return renamed


def _conversion_from_v1(conversion: Object) -> Object:
    webhook = conversion.get("webhook") or {}
    out: dict[str, Any] = {"strategy": conversion["strategy"]}
    if webhook.get("clientConfig") is not None:
        out["webhookClientConfig"] = webhook["clientConfig"]
    if webhook.get("conversionReviewVersions"):
        out["conversionReviewVersions"] = webhook["conversionReviewVersions"]
    return out


def _conversion_to_v1(conversion: Object | None) -> Object | None:
    if conversion is None:
        return None
    client, reviewed = conversion.get("webhookClientConfig"), conversion.get("conversionReviewVersions")
    if conversion["strategy"] == "Webhook" and not reviewed:
        reviewed = ["v1beta1"]
    out = {"strategy": conversion["strategy"]}
    if client is None and reviewed is None:
        return out
    return out | {"webhook": {"clientConfig": client, "conversionReviewVersions": reviewed}}
