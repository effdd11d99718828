"""CompositeResourceDefinitions (XRDs) of Crossplane, and the CRDs that Crossplane makes of them.

Crossplane adds fields to the schemas of an XRD, and takes over a part of their keywords only.
Mirrors github.com/crossplane/crossplane-runtime v2.4.0 pkg/xcrd, with the defaults and rules of the CRD of XRDs
(github.com/crossplane/crossplane v2.3.4 cluster/crds).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import NAMESPACE_DNS, uuid5

from apiext.base.meta.encoding import json_values
from apiext.resources.definitions.composite_validation import (
    FIELDS,
    LEGACY,
    VERSION_FIELDS,
    list_of,
    object_of,
    validate_composite_definition,
)

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
_CRD_SCOPES: Final = {LEGACY: "Cluster", "Cluster": "Cluster", "Namespaced": "Namespaced"}
_COMPOSITE: Final = "composite"
_CLAIM: Final = "claim"
_MAX_NAME_LENGTH: Final = 63
"""Names of composite resources and claims are values of labels."""

_ROOT_KEYWORDS: Final = ("description", "x-kubernetes-validations")
_STATUS_KEYWORDS: Final = ("description", "oneOf", "required", "x-kubernetes-validations")
_SPEC_KEYWORDS: Final = (*_STATUS_KEYWORDS, "x-kubernetes-preserve-unknown-fields")
_ROOT_FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status")


def is_composite_definition(obj: Object) -> bool:
    """Report whether an object is an XRD, in whatever version."""
    return obj.get("kind") == KIND and str(obj.get("apiVersion")).startswith(f"{GROUP}/")


def composite_crds(xrd: Object) -> list[Object]:
    """Return the CRDs that Crossplane makes of an XRD of a file: that of the composite resource, and that of the claim if there is one.

    Each is as Crossplane sends it, but for the uid in its owner reference, and shares nothing with the XRD.

    Raises:
        ValueError: the API server refuses the XRD, or Crossplane makes no CRD of it.
    """
    if xrd["apiVersion"] not in _DEFAULT_SCOPES:
        raise ValueError(f"apiVersion is {xrd['apiVersion']!r}, expected {' or '.join(_DEFAULT_SCOPES)}")
    if problems := validate_composite_definition(xrd):
        raise ValueError("; ".join(problems))
    spec = object_of(xrd.get("spec"), "spec")
    scope = _DEFAULT_SCOPES[xrd["apiVersion"]] if spec.get("scope") is None else spec["scope"]
    names = object_of(spec.get("names"), "spec.names")
    fields = _composite_fields(scope, spec.get("defaultCompositionUpdatePolicy") or "Automatic")
    versions = [_version(each, fields, _status_fields(scope), _composite_columns(scope)) for each in _versions(spec)]
    crds = [_crd(xrd, object_of(xrd.get("metadata"), "metadata").get("name"), _CRD_SCOPES[scope], _named(names, _COMPOSITE), versions)]
    if spec.get("claimNames") is not None:
        claim = _claim_names(spec["claimNames"], names)
        fields = _claim_fields(spec.get("defaultCompositeDeletePolicy") or "Background")
        versions = [_version(each, fields, _status_fields(LEGACY), _claim_columns()) for each in _versions(spec)]
        crds.append(_crd(xrd, f"{claim['plural']}.{spec['group']}", "Namespaced", _named(claim, _CLAIM), versions))
    return [json_values.copy(crd) for crd in crds]


def ignored_parts(xrd: Object) -> Iterator[str]:
    """Yield the parts of an XRD that Crossplane leaves out: "spec.names2", or "version v1: spec.anyOf" of a schema. It has CRDs."""
    spec = object_of(xrd.get("spec"), "spec")
    yield from (f"spec.{name}" for name in spec if name not in FIELDS)
    for version in _versions(spec):
        schema = _schema(version)
        head = f"version {version.get('name')}: "
        yield from (head + name for name in version if name not in VERSION_FIELDS)
        properties = _properties(schema)
        for keyword in schema:
            if keyword == "required":
                yield from (f"{head}required {name}" for name in list_of(schema[keyword], keyword) if name not in _ROOT_FIELDS[:-1])
            elif keyword not in (*_ROOT_KEYWORDS, "properties", "type"):
                yield head + keyword
        yield from (head + name for name in properties if name not in _ROOT_FIELDS)
        for name, kept in (("spec", _SPEC_KEYWORDS), ("status", _STATUS_KEYWORDS)):
            given = object_of(properties.get(name), f"properties.{name}")
            yield from (f"{head}{name}.{keyword}" for keyword in given if keyword not in (*kept, "properties", "type"))


def composite_owner(metadata: Object) -> str:
    """Return the name of the XRD that Crossplane makes a CRD of, "" if the CRD is no such one."""
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") == KIND and str(owner.get("apiVersion")).startswith(f"{GROUP}/"):
            return str(owner["name"])
    return ""


def without_owner(crd: Object) -> Object:
    """Return a CRD as a server without Crossplane has it: without an XRD as its owner."""
    if not composite_owner(crd["metadata"]):
        return crd
    return {**crd, "metadata": {name: value for name, value in crd["metadata"].items() if name != "ownerReferences"}}


def crd_names(xrd: Object) -> list[str]:
    """Return the names of the CRDs of a stored XRD."""
    spec = xrd["spec"]
    claim = spec.get("claimNames")
    return [xrd["metadata"]["name"], *([f"{claim['plural']}.{spec['group']}"] if claim else ())]


def refused_changes(old: Object, new: Object) -> list[str]:
    """Return why a CRD of Crossplane cannot become another one of its name: what the API server refuses of the XRD, or Crossplane.

    Both are in canonical form.
    """
    before, after = composite_owner(old["metadata"]), composite_owner(new["metadata"])
    if not before:
        return []
    if before != after:
        return [f"the CRD is of the XRD {before}: Crossplane takes back what others change, and deletes it with the XRD"]
    changed, scope = [], _scope_of(new["spec"])
    if old["spec"]["names"] != new["spec"]["names"]:
        changed.append(f"{'claimNames' if _is_claim(old['spec']) else 'names'}: Invalid value")
    if scope != _scope_of(old["spec"]):
        changed.append(f'scope: Invalid value: "{scope}"')
    return [f"kube-apiserver refuses the XRD {after}: spec.{problem}: Value is immutable" for problem in changed]


def _is_claim(spec: Object) -> bool:
    """Report whether the spec of a CRD is that of a claim."""
    return _CLAIM in (spec["names"].get("categories") or ())[-1:]


def _scope_of(spec: Object) -> str:
    """Return the scope that the XRD of a CRD has."""
    return str(spec["scope"]) if all(_has_crossplane(_properties(_spec_schema(version))) for version in spec["versions"]) else LEGACY


def _has_crossplane(fields: Object) -> bool:
    """Report whether Crossplane's fields of a composite resource are in spec.crossplane, not beside it."""
    return "resourceRefs" in _properties(fields.get("crossplane") or {})


def composite_patch(name: str, crds: Sequence[Object]) -> Object:
    """Return the merge patch of an XRD after which Crossplane makes these CRDs of it.

    Other fields of the XRD are not written: they are immutable, or no CRD shows them. The versions lack the fields that Crossplane
    replaces in all these CRDs.
    """
    specs = [crd["spec"] for crd in crds]
    versions = {version["name"]: _given_version(version, is_claim=_is_claim(specs[0])) for version in specs[0]["versions"]}
    for spec in specs[1:]:
        for version in spec["versions"]:
            if version["name"] in versions:
                given = _given_version(version, is_claim=_is_claim(spec))
                own = _spec_schema(versions[version["name"]])
                own["properties"] = {**_spec_schema(given)["properties"], **own["properties"]}
    conversion = specs[0].get("conversion")
    metadata = {member: crds[0]["metadata"][member] for member in ("labels", "annotations") if crds[0]["metadata"].get(member)}
    policies: Object = {}
    for spec in specs:
        policies |= _given_policies(spec)
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {
            "versions": [*versions.values()],
            # an XRD of v1 may not name the strategy None
            "conversion": conversion if conversion and conversion["strategy"] == "Webhook" else None,
            **policies,
            **({"metadata": metadata} if metadata else {}),
        },
    }


def _given_policies(spec: Object) -> Object:
    """Return the policies of an XRD, which are defaults in the schemas of its CRDs."""
    fields = _properties(_spec_schema(spec["versions"][0]))
    policies = (
        ("defaultCompositeDeletePolicy", fields.get("compositeDeletePolicy") if _is_claim(spec) else None),
        ("defaultCompositionUpdatePolicy", None if _is_claim(spec) else _composite_part(fields).get("compositionUpdatePolicy")),
    )
    return {name: schema["default"] for name, schema in policies if schema and "default" in schema}


def _spec_schema(version: Object) -> Object:
    """Return the schema of spec of a version."""
    return object_of(_properties(_schema(version)).get("spec"), "properties.spec")


def _composite_part(fields: Object) -> Object:
    """Return the fields of the spec of a composite resource among which are those of Crossplane."""
    return _properties(fields["crossplane"]) if _has_crossplane(fields) else fields


def _given_version(version: Object, *, is_claim: bool) -> Object:
    """Return a version of a CRD as an XRD has it: without what Crossplane adds."""
    schema, spec = _schema(version), _spec_schema(version)
    properties = _properties(schema)
    status, metadata = (object_of(properties.get(name), name) for name in ("status", "metadata"))
    scope = "Cluster" if _has_crossplane(_properties(spec)) and not is_claim else LEGACY
    added = _claim_fields("") if is_claim else _composite_fields(scope, "")
    parts = {
        "spec": spec | {"properties": _without(_properties(spec), added)},
        "status": status | {"properties": _without(_properties(status), _status_fields(scope))},
    }
    if object_of(_properties(metadata).get("name"), "metadata.name").get("maxLength") not in (None, _MAX_NAME_LENGTH):
        parts["metadata"] = metadata
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
    metadata, spec = object_of(xrd.get("metadata"), "metadata"), xrd["spec"]
    given = object_of(spec.get("metadata"), "spec.metadata")
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
            "labels": {**object_of(metadata.get("labels"), "metadata.labels"), **object_of(given.get("labels"), "spec.metadata.labels")},
            "annotations": object_of(given.get("annotations"), "spec.metadata.annotations"),
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
    return {**names, "categories": [*list_of(names.get("categories"), "categories"), category]}


def _claim_names(claim: Object, names: Object) -> Object:
    for member in ("kind", "plural", "singular", "listKind"):
        if claim.get(member) and claim[member] == names.get(member):
            raise ValueError(f'invalid resource claim names: "{claim[member]}" conflicts with composite resource name')
    return claim


def _versions(spec: Object) -> list[Object]:
    return [object_of(each, "spec.versions[*]") for each in list_of(spec.get("versions"), "spec.versions")]


def _schema(version: Object) -> Object:
    name = version.get("name")
    if version.get("schema") is None:
        raise ValueError(f"version {name}: custom resource validation cannot be nil")
    schema = object_of(version["schema"], f"version {name}: schema").get("openAPIV3Schema")
    if schema is None:
        raise ValueError(f"version {name}: cannot parse validation schema")
    return object_of(schema, f"version {name}: schema.openAPIV3Schema")


def _version(version: Object, spec_fields: Object, status_fields: Object, columns: Sequence[Object]) -> Object:
    schema = _schema(version)
    properties = _properties(schema)
    name = object_of(_properties(object_of(properties.get("metadata"), "properties.metadata")).get("name"), "properties.metadata.name")
    length = name.get("maxLength")
    if length is not None and type(length) is not int:
        raise ValueError("properties.metadata.name.maxLength: expected an integer")
    longest = _MAX_NAME_LENGTH if length is None else min(length, _MAX_NAME_LENGTH)
    scale = object_of(version.get("subresources"), "subresources").get("scale")
    return {
        **{key: version[key] for key in ("name", "deprecated", "deprecationWarning") if key in version},
        "served": version.get("served", False),
        "storage": version.get("referenceable", False),
        "additionalPrinterColumns": [*list_of(version.get("additionalPrinterColumns"), "additionalPrinterColumns"), *columns],
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
    given = object_of(properties.get(name), f"properties.{name}")
    return {**_picked(given, keywords), "type": "object", "properties": {**_properties(given), **added}}


def _picked(schema: Object, keywords: Sequence[str]) -> Object:
    return {keyword: schema[keyword] for keyword in keywords if keyword in schema}


def _properties(schema: Object) -> Object:
    return object_of(schema.get("properties"), "properties")


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
    if scope != LEGACY:
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
    if scope != LEGACY:
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
    place = ".spec" if scope == LEGACY else ".spec.crossplane"
    composition = _column("COMPOSITION", f"{place}.compositionRef.name")
    revision = _column("COMPOSITIONREVISION", f"{place}.compositionRevisionRef.name", priority=1)
    return [_SYNCED, _READY, composition, revision, _AGE]


def _claim_columns() -> list[Object]:
    return [_SYNCED, _READY, _column("CONNECTION-SECRET", ".spec.writeConnectionSecretToRef.name"), _AGE]
