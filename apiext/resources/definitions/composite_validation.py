"""Validation of XRDs of Crossplane by the schema and the rules of its CRD of XRDs, in kube-apiserver's words.

The release is that of resources/definitions/composite_definition.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object

LEGACY: Final = "LegacyCluster"
FIELDS: Final = (
    "claimNames",
    "connectionSecretKeys",
    "conversion",
    "defaultCompositeDeletePolicy",
    "defaultCompositionRef",
    "defaultCompositionRevisionSelector",
    "defaultCompositionUpdatePolicy",
    "enforcedCompositionRef",
    "group",
    "metadata",
    "names",
    "scope",
    "versions",
)
"""The fields of spec."""
VERSION_FIELDS: Final = (
    "additionalPrinterColumns",
    "deprecated",
    "deprecationWarning",
    "name",
    "referenceable",
    "schema",
    "served",
    "subresources",
)
_SCOPES: Final = {"v1": (LEGACY, "Namespaced", "Cluster"), "v2": ("Namespaced", "Cluster")}
_POLICIES: Final = {
    "defaultCompositeDeletePolicy": ("Background", "Foreground"),
    "defaultCompositionUpdatePolicy": ("Automatic", "Manual"),
}
_REQUIRED: Final = {
    "names": ("kind", "plural"),
    "claimNames": ("kind", "plural"),
    "conversion": ("strategy",),
}


def validate_composite_definition(xrd: Object) -> list[str]:
    """Return why the API server does not create an XRD of v1 or v2.

    Raises:
        ValueError: a member has another type.
    """
    spec, version = object_of(xrd.get("spec"), "spec"), str(xrd["apiVersion"]).rpartition("/")[2]
    # rules are checked only where the schema is kept
    return [*_schema_problems(spec, version)] or [*_rule_problems(spec, version)]


def object_of(value: Any, path: str) -> Object:
    """Return an object, an empty one for none.

    Raises:
        ValueError: the value is something else.
    """
    if not isinstance(value, dict | None):
        raise ValueError(f"{path}: expected an object")  # noqa: TRY004
    return value or {}


def list_of(value: Any, path: str) -> Sequence[Any]:
    """Return a list, an empty one for none.

    Raises:
        ValueError: the value is something else.
    """
    if not isinstance(value, list | None):
        raise ValueError(f"{path}: expected a list")  # noqa: TRY004
    return value or ()


def _schema_problems(spec: Object, version: str) -> Iterator[str]:
    yield from _missing(spec, "spec", ("group", "names", "versions"))
    for member, required in _REQUIRED.items():
        if spec.get(member) is not None:
            yield from _missing(object_of(spec[member], f"spec.{member}"), f"spec.{member}", required)
    for index, each in enumerate(list_of(spec.get("versions"), "spec.versions")):
        path = f"spec.versions[{index}]"
        yield from _missing(object_of(each, path), path, ("name", "referenceable", "served"))
    for member, supported in {"scope": _SCOPES[version], **_POLICIES}.items():
        value = spec.get(member)
        if value is not None and value not in supported:
            shown = f'"{value}"' if isinstance(value, str) else value
            choice = ", ".join(f'"{one}"' for one in supported)
            yield f"spec.{member}: Unsupported value: {shown}: supported values: {choice}"


def _missing(value: Object, path: str, names: Sequence[str]) -> list[str]:
    return [f"{path}.{name}: Required value" for name in names if value.get(name) is None]


def _rule_problems(spec: Object, version: str) -> Iterator[str]:
    is_legacy = version == "v1" and spec.get("scope") in (None, LEGACY)
    if spec.get("claimNames") is not None and not is_legacy:
        yield f"spec: Invalid value: {_refusal(version, 'can offer claims', 'Claims')}"
    if spec.get("connectionSecretKeys") is not None and not is_legacy:
        yield f"spec: Invalid value: {_refusal(version, 'support connection secrets', 'XR connection secrets')}"
    for member in ("names", "claimNames"):
        names = object_of(spec.get(member), f"spec.{member}")
        for name in ("plural", "singular"):
            if str(names.get(name) or "").lower() != str(names.get(name) or ""):
                yield f"spec.{member}: Invalid value: {name.capitalize()} name must be lowercase"
    conversion = object_of(spec.get("conversion"), "spec.conversion")
    if conversion and version == "v1" and not (conversion["strategy"] == "Webhook" and conversion.get("webhook") is not None):
        yield "spec.conversion: Invalid value: Webhook configuration is required when conversion strategy is Webhook"


def _refusal(version: str, of_v1: str, of_v2: str) -> str:
    if version == "v1":
        return f"Only {LEGACY} composite resources {of_v1}"
    return f"{of_v2} aren't supported in apiextensions.crossplane.io/v2"
