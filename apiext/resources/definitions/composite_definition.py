"""CompositeResourceDefinitions (XRDs) of Crossplane, and the CRDs that Crossplane makes of them.

Crossplane adds fields to the schemas of an XRD, and takes over a part of their keywords only.
Mirrors github.com/crossplane/crossplane-runtime v2.4.0 pkg/xcrd, with the defaults and rules of the CRD of XRDs
(github.com/crossplane/crossplane v2.3.4 cluster/crds).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import NAMESPACE_DNS, uuid5

from apiext.base.meta.encoding import json_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object

GROUP: Final = "apiextensions.crossplane.io"
KIND: Final = "CompositeResourceDefinition"
PLURAL: Final = "compositeresourcedefinitions"
XRDS: Final = f"{PLURAL}.v1.{GROUP}"
"""The argument of kubectl that names XRDs, in the version that all releases of Crossplane serve."""
_DEFAULT_SCOPES: Final = {f"{GROUP}/v1": "LegacyCluster", f"{GROUP}/v2": "Namespaced"}
"""By apiVersion."""
_LEGACY: Final = "LegacyCluster"
_CRD_SCOPES: Final = {_LEGACY: "Cluster", "Cluster": "Cluster", "Namespaced": "Namespaced"}
_COMPOSITE: Final = "composite"
_CLAIM: Final = "claim"
_MAX_NAME_LENGTH: Final = 63
"""Names of composite resources and claims are values of labels."""

_ROOT_KEYWORDS: Final = ("description", "x-kubernetes-validations")
_STATUS_KEYWORDS: Final = ("description", "oneOf", "required", "x-kubernetes-validations")
_SPEC_KEYWORDS: Final = (*_STATUS_KEYWORDS, "x-kubernetes-preserve-unknown-fields")
_ROOT_FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status")


def is_composite_definition(obj: Object) -> bool:
    """Report whether an object with an apiVersion and a kind is an XRD, in whatever version."""
    return obj["kind"] == KIND and str(obj["apiVersion"]).startswith(f"{GROUP}/")


def composite_crds(xrd: Object) -> list[Object]:
    """Return the CRDs that Crossplane makes of an XRD of a file: that of the composite resource, and that of the claim if there is one.

    Each is as Crossplane sends it, but for the uid in its owner reference, and shares nothing with the XRD.

    Raises:
        ValueError: the API server refuses the XRD, or Crossplane makes no CRD of it.
    """
    if xrd["apiVersion"] not in _DEFAULT_SCOPES:
        raise ValueError(f"apiVersion is {xrd['apiVersion']!r}, expected {' or '.join(_DEFAULT_SCOPES)}")
    spec = _object(xrd.get("spec"), "spec")
    scope = _DEFAULT_SCOPES[xrd["apiVersion"]] if spec.get("scope") is None else spec["scope"]
    if not isinstance(scope, str) or scope not in _CRD_SCOPES:
        raise ValueError(f"spec.scope: Unsupported value: {scope!r}: supported values: {', '.join(_CRD_SCOPES)}")
    names = _object(spec.get("names"), "spec.names")
    fields = _composite_fields(scope, spec.get("defaultCompositionUpdatePolicy") or "Automatic")
    versions = [_version(each, fields, _status_fields(scope), _composite_columns(scope)) for each in _versions(spec)]
    crds = [_crd(xrd, _object(xrd.get("metadata"), "metadata").get("name"), _CRD_SCOPES[scope], _named(names, _COMPOSITE), versions)]
    if spec.get("claimNames") is not None:
        claim = _claim_names(xrd, scope, names)
        fields = _claim_fields(spec.get("defaultCompositeDeletePolicy") or "Background")
        versions = [_version(each, fields, _status_fields(_LEGACY), _claim_columns()) for each in _versions(spec)]
        crds.append(_crd(xrd, f"{claim.get('plural')}.{spec.get('group')}", "Namespaced", _named(claim, _CLAIM), versions))
    return [json_values.copy(crd) for crd in crds]


def ignored_parts(xrd: Object) -> Iterator[str]:
    """Yield the parts of the schemas of an XRD that Crossplane leaves out, such as "version v1: spec.anyOf". It has CRDs."""
    for version in _versions(_object(xrd.get("spec"), "spec")):
        schema = _schema(version)
        head = f"version {version.get('name')}: "
        properties = _properties(schema)
        for keyword in schema:
            if keyword == "required":
                yield from (f"{head}required {name}" for name in _list(schema[keyword], keyword) if name not in _ROOT_FIELDS[:-1])
            elif keyword not in (*_ROOT_KEYWORDS, "properties", "type"):
                yield head + keyword
        yield from (head + name for name in properties if name not in _ROOT_FIELDS)
        for name, kept in (("spec", _SPEC_KEYWORDS), ("status", _STATUS_KEYWORDS)):
            given = _object(properties.get(name), f"properties.{name}")
            yield from (f"{head}{name}.{keyword}" for keyword in given if keyword not in (*kept, "properties", "type"))


def composite_owner(metadata: Object) -> str:
    """Return the name of the XRD that Crossplane makes a CRD of, "" if the CRD is no such one."""
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") == KIND and str(owner.get("apiVersion")).startswith(f"{GROUP}/"):
            return str(owner["name"])
    return ""


def crd_names(xrd: Object) -> list[str]:
    """Return the names of the CRDs of a stored XRD."""
    spec = xrd["spec"]
    claim = spec.get("claimNames")
    return [xrd["metadata"]["name"], *([f"{claim['plural']}.{spec['group']}"] if claim else ())]


def composite_patch(name: str, spec: Object) -> Object:
    """Return the merge patch of an XRD after which Crossplane makes a CRD with the versions and the conversion of a CRD's spec.

    Other fields of the spec are not written: they are immutable in XRDs, or Crossplane's. The versions lack the fields of the XRD that
    Crossplane replaces in this CRD.
    """
    conversion = spec.get("conversion")
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {
            "versions": [_given_version(version, is_claim=spec["names"]["categories"][-1] == _CLAIM) for version in spec["versions"]],
            # an XRD of v1 may not name the strategy None
            "conversion": conversion if conversion and conversion["strategy"] == "Webhook" else None,
        },
    }


def _given_version(version: Object, *, is_claim: bool) -> Object:
    """Return a version of a CRD as an XRD has it: without what Crossplane adds."""
    schema = version["schema"]["openAPIV3Schema"]
    properties, spec = schema["properties"], schema["properties"]["spec"]
    is_modern = "resourceRefs" in _properties(_properties(spec).get("crossplane") or {})
    scope = "Cluster" if is_modern and not is_claim else _LEGACY
    added = _claim_fields("") if is_claim else _composite_fields(scope, "")
    parts = {
        "spec": spec | {"properties": _without(_properties(spec), added)},
        "status": properties["status"] | {"properties": _without(_properties(properties["status"]), _status_fields(scope))},
    }
    if _properties(properties["metadata"])["name"]["maxLength"] != _MAX_NAME_LENGTH:
        parts["metadata"] = properties["metadata"]
    columns, last = version.get("additionalPrinterColumns") or [], _claim_columns() if is_claim else _composite_columns(scope)
    if [column["name"] for column in columns[-len(last) :]] == [column["name"] for column in last]:
        columns = columns[: -len(last)]
    scale = (version.get("subresources") or {}).get("scale")
    return {
        **_picked(version, ("name", "served", "deprecated", "deprecationWarning")),
        "referenceable": version["storage"],
        "schema": {"openAPIV3Schema": schema | {"properties": parts}},
        **({"additionalPrinterColumns": columns} if columns else {}),
        **({"subresources": {"scale": scale}} if scale is not None else {}),
    }


def _without(properties: Object, added: Object) -> Object:
    return {name: schema for name, schema in properties.items() if name not in added}


def _crd(xrd: Object, name: Any, scope: str, names: Object, versions: Sequence[Object]) -> Object:
    metadata, spec = _object(xrd.get("metadata"), "metadata"), xrd["spec"]
    given = _object(spec.get("metadata"), "spec.metadata")
    owner = {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "name": metadata.get("name"),
        "uid": str(uuid5(NAMESPACE_DNS, f"{metadata.get('name')}.{PLURAL}")),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": name,
            "labels": {**_object(metadata.get("labels"), "metadata.labels"), **_object(given.get("labels"), "spec.metadata.labels")},
            "annotations": _object(given.get("annotations"), "spec.metadata.annotations"),
            "ownerReferences": [owner],
        },
        "spec": {
            "group": spec.get("group"),
            "names": names,
            "scope": scope,
            "versions": versions,
            **({"conversion": spec["conversion"]} if spec.get("conversion") is not None else {}),
        },
    }


def _named(names: Object, category: str) -> Object:
    return {**names, "categories": [*_list(names.get("categories"), "categories"), category]}


def _claim_names(xrd: Object, scope: str, names: Object) -> Object:
    claim = _object(xrd["spec"]["claimNames"], "spec.claimNames")
    if not xrd["apiVersion"].endswith("/v1"):
        raise ValueError(f"spec: Invalid value: Claims aren't supported in {xrd['apiVersion']}")
    if scope != _LEGACY:
        raise ValueError("spec: Invalid value: Only LegacyCluster composite resources can offer claims")
    for member in ("kind", "plural", "singular", "listKind"):
        if claim.get(member) and claim[member] == names.get(member):
            raise ValueError(f'invalid resource claim names: "{claim[member]}" conflicts with composite resource name')
    return claim


def _versions(spec: Object) -> list[Object]:
    return [_object(each, "spec.versions[*]") for each in _list(spec.get("versions"), "spec.versions")]


def _schema(version: Object) -> Object:
    name = version.get("name")
    if version.get("schema") is None:
        raise ValueError(f"version {name}: custom resource validation cannot be nil")
    schema = _object(version["schema"], f"version {name}: schema").get("openAPIV3Schema")
    if schema is None:
        raise ValueError(f"version {name}: cannot parse validation schema")
    return _object(schema, f"version {name}: schema.openAPIV3Schema")


def _version(version: Object, spec_fields: Object, status_fields: Object, columns: Sequence[Object]) -> Object:
    schema = _schema(version)
    properties = _properties(schema)
    name = _object(_properties(_object(properties.get("metadata"), "properties.metadata")).get("name"), "properties.metadata.name")
    length = name.get("maxLength")
    if length is not None and type(length) is not int:
        raise ValueError("properties.metadata.name.maxLength: expected an integer")
    longest = _MAX_NAME_LENGTH if length is None else min(length, _MAX_NAME_LENGTH)
    scale = _object(version.get("subresources"), "subresources").get("scale")
    return {
        **{key: version[key] for key in ("name", "deprecated", "deprecationWarning") if key in version},
        "served": version.get("served", False),
        "storage": version.get("referenceable", False),
        "additionalPrinterColumns": [*_list(version.get("additionalPrinterColumns"), "additionalPrinterColumns"), *columns],
        "subresources": {"status": {}, **({"scale": scale} if scale is not None else {})},
        "schema": {
            "openAPIV3Schema": {
                **_picked(schema, _ROOT_KEYWORDS),
                "type": "object",
                "required": ["spec"],
                "properties": {
                    "apiVersion": _STRING,
                    "kind": _STRING,
                    "metadata": {"type": "object", "properties": {"name": _STRING | {"maxLength": longest}}},
                    "spec": _part(properties, "spec", _SPEC_KEYWORDS, spec_fields),
                    "status": _part(properties, "status", _STATUS_KEYWORDS, status_fields),
                },
            }
        },
    }


def _part(properties: Object, name: str, keywords: Sequence[str], added: Object) -> Object:
    given = _object(properties.get(name), f"properties.{name}")
    return {**_picked(given, keywords), "type": "object", "properties": {**_properties(given), **added}}


def _picked(schema: Object, keywords: Sequence[str]) -> Object:
    return {keyword: schema[keyword] for keyword in keywords if keyword in schema}


def _properties(schema: Object) -> Object:
    return _object(schema.get("properties"), "properties")


def _object(value: Any, path: str) -> Object:
    """Return an object, an empty one for none. Raise ValueError."""
    if not isinstance(value, dict | None):
        raise ValueError(f"{path}: expected an object")  # noqa: TRY004
    return value or {}


def _list(value: Any, path: str) -> Sequence[Any]:
    """Return a list, an empty one for none. Raise ValueError."""
    if not isinstance(value, list | None):
        raise ValueError(f"{path}: expected a list")  # noqa: TRY004
    return value or ()


_STRING: Final[Object] = {"type": "string"}
_TIME: Final[Object] = {"type": "string", "format": "date-time"}


def _made(properties: Mapping[str, Object], *required: str) -> Object:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _strings(*names: str) -> Mapping[str, Object]:
    return dict.fromkeys(names, _STRING)


def _policy(*values: str, **default: str) -> Object:
    return {"type": "string", "enum": list(values), **default}


_NAMED: Final = _made(_strings("name"), "name")
_SELECTOR: Final = _made({"matchLabels": {"type": "object", "additionalProperties": _STRING}}, "matchLabels")
_SELECTION: Final[Object] = {
    "compositionRef": _NAMED,
    "compositionSelector": _SELECTOR,
    "compositionRevisionRef": _NAMED,
    "compositionRevisionSelector": _SELECTOR,
}
_CONDITION: Final[Object] = {
    "lastTransitionTime": _TIME,
    **_strings("message", "reason", "status", "type"),
    "observedGeneration": {"type": "integer", "format": "int64"},
}
_CLAIM_REFERENCE: Final = ("apiVersion", "kind", "namespace", "name")
_CLAIMED: Final = ("apiVersion", "kind", "name")


def _composite_fields(scope: str, update_policy: str) -> Object:
    referred = ("apiVersion", "name", "kind", *(() if scope == "Namespaced" else ("namespace",)))
    fields: Object = {
        **_SELECTION,
        "compositionUpdatePolicy": _policy("Automatic", "Manual", default=update_policy),
        "resourceRefs": {
            "type": "array",
            "items": _made(_strings(*referred), "apiVersion", "kind"),
            "x-kubernetes-list-type": "atomic",
        },
    }
    if scope != _LEGACY:
        return {"crossplane": _made(fields) | {"description": "Configures how Crossplane will reconcile this composite resource"}}
    secret = _made(_strings("name", "namespace"), "name", "namespace")
    return fields | {"claimRef": _made(_strings(*_CLAIM_REFERENCE), *_CLAIM_REFERENCE), "writeConnectionSecretToRef": secret}


def _claim_fields(delete_policy: str) -> Object:
    return {
        **_SELECTION,
        "compositionUpdatePolicy": _policy("Automatic", "Manual"),
        "compositeDeletePolicy": _policy("Background", "Foreground", default=delete_policy),
        "resourceRef": _made(_strings(*_CLAIMED), *_CLAIMED),
        "writeConnectionSecretToRef": _NAMED,
    }


def _status_fields(scope: str) -> Object:
    fields: Object = {
        "conditions": {
            "description": "Conditions of the resource.",
            "type": "array",
            "items": _made(_CONDITION, "lastTransitionTime", "reason", "status", "type"),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        }
    }
    if scope != _LEGACY:
        return fields
    return fields | {
        "connectionDetails": _made({"lastPublishedTime": _TIME}),
        "claimConditionTypes": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
    }


def _column(name: str, path: str, type: str = "string", **more: int) -> Object:
    return {"name": name, "type": type, "jsonPath": path, **more}


_SYNCED: Final = _column("SYNCED", ".status.conditions[?(@.type=='Synced')].status")
_READY: Final = _column("READY", ".status.conditions[?(@.type=='Ready')].status")
_AGE: Final = _column("AGE", ".metadata.creationTimestamp", "date")


def _composite_columns(scope: str) -> list[Object]:
    place = ".spec" if scope == _LEGACY else ".spec.crossplane"
    composition = _column("COMPOSITION", f"{place}.compositionRef.name")
    revision = _column("COMPOSITIONREVISION", f"{place}.compositionRevisionRef.name", priority=1)
    return [_SYNCED, _READY, composition, revision, _AGE]


def _claim_columns() -> list[Object]:
    return [_SYNCED, _READY, _column("CONNECTION-SECRET", ".spec.writeConnectionSecretToRef.name"), _AGE]
