"""The v1beta1 form of a definition: what is stored, and what validation speaks about.

kube-apiserver stores definitions as v1beta1, where a schema, subresources, columns and selectable fields that all versions share
stand once, in the spec. Its internal type, whose field paths appear in error messages, has the same shape.
Mirrors apiextensions-apiserver pkg/apis/apiextensions/v1/conversion.go and v1beta1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.definitions import types
from apiext.definitions.equality import same
from apiext.meta.go_types import Bool, Field, Pointer, Raw, Slice, String, Struct

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object

API_VERSION: Final = "apiextensions.k8s.io/v1beta1"

SHARED: Final = {
    "validation": "schema",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""Fields of the spec, and of each version, that stand in the spec when all versions agree."""

_SCHEMA: Final = Raw("v1beta1.JSONSchemaProps", keep_order=True)
"""Schemas were canonical when they were written, and are taken as they are."""
_COLUMN: Final = types.column("JSONPath")

_CONVERSION: Final = Struct("CustomResourceConversion", "v1beta1").define(
    Field("strategy", String(), omit_empty=False),
    Field("webhookClientConfig", Pointer(types.CLIENT)),
    Field("conversionReviewVersions", types.STRINGS),
)

_SPEC: Final = Struct("CustomResourceDefinitionSpec", "v1beta1").define(
    Field("group", types.STRING, omit_empty=False),
    Field("version", types.STRING),
    Field("names", types.NAMES, omit_empty=False),
    Field("scope", types.STRING, omit_empty=False),
    Field("validation", Pointer(types.validation(_SCHEMA))),
    Field("subresources", Pointer(types.SUBRESOURCES)),
    Field("versions", Slice(types.version(_SCHEMA, _COLUMN))),
    Field("additionalPrinterColumns", Slice(_COLUMN)),
    Field("selectableFields", Slice(types.SELECTABLE)),
    Field("conversion", Pointer(_CONVERSION)),
    Field("preserveUnknownFields", Pointer(Bool())),
)

_STORED: Final = types.definition(_SPEC)

READ: Final = types.definition(
    Struct("CustomResourceDefinitionSpec").define(
        Field("group", types.STRING, omit_empty=False),
        Field("names", types.NAMES, omit_empty=False),
        Field("scope", types.STRING, omit_empty=False),
        Field("versions", Slice(types.version(_SCHEMA, types.COLUMN)), omit_empty=False),
        Field("conversion", Pointer(types.CONVERSION)),
        Field("preserveUnknownFields", types.BOOL),
    )
)
"""The v1 type as it comes out of storage."""


def to_storage(crd: Object) -> Object:
    """The stored form of a canonical v1 definition."""
    stored = {**crd, "apiVersion": API_VERSION, "spec": spec_of(crd["spec"])}
    metadata = {key: item for key, item in crd["metadata"].items() if key not in ("resourceVersion", "selfLink")}
    return _STORED.order(stored | {"metadata": metadata})


def from_storage(stored: Object) -> Object:
    """A v1 definition from its stored form, with the defaults of v1beta1."""
    crd: Object = _STORED.canonical(stored)
    spec = crd["spec"]
    versions = spec.get("versions") or []
    if not versions and spec.get("version"):
        versions = [{"name": spec["version"], "served": True, "storage": True}]
    for shared, name in SHARED.items():
        if shared in spec:
            versions = [{**version, name: spec[shared]} for version in versions]
    crd["spec"] = {
        "group": spec["group"],
        "names": spec["names"],
        "scope": spec["scope"] or "Namespaced",
        "versions": [_version_to_v1(version) for version in versions],
        "conversion": _conversion_to_v1(spec.get("conversion")),
        "preserveUnknownFields": spec.get("preserveUnknownFields", True),
    }
    return crd


def spec_of(spec: Object) -> Object:
    """The v1beta1 form of a canonical v1 spec, sharing its members."""
    versions = [_version_from_v1(version) for version in spec["versions"] or ()]
    out: Object = {key: spec[key] for key in ("group", "names", "scope")}
    if versions:
        out["version"] = versions[0]["name"]
    for shared, name in SHARED.items():
        first = versions[0].get(name) if versions else None
        if first not in (None, []) and all(same(version.get(name), first) for version in versions):
            out[shared] = first
            for version in versions:
                del version[name]
    if spec["versions"] is not None:
        out["versions"] = versions
    out["conversion"] = _conversion_from_v1(spec["conversion"])
    out["preserveUnknownFields"] = spec.get("preserveUnknownFields", False)
    return _SPEC.order(out)


def _version_from_v1(version: Object) -> Object:
    out = dict(version)
    if "additionalPrinterColumns" in out:
        out["additionalPrinterColumns"] = _rename(out["additionalPrinterColumns"], "jsonPath", "JSONPath")
    return out


def _version_to_v1(version: Object) -> Object:
    out = dict(version)
    if "additionalPrinterColumns" in out:
        out["additionalPrinterColumns"] = _rename(out["additionalPrinterColumns"], "JSONPath", "jsonPath")
    return out


def _rename(columns: list[Object], old: str, new: str) -> list[Object]:
    return [{new if key == old else key: item for key, item in column.items()} for column in columns]


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
