"""Names of definitions, operations and tags.

Mirrors apiserver pkg/endpoints/openapi, and gvkToModelName of apiextensions-apiserver's OpenAPI builder.
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta.gvk import GroupVersion, GroupVersionKind

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
VERSION_INFO: Final = "io.k8s.apimachinery.pkg.version.Info"
SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
_API: Final = "io.k8s.api."
_AGGREGATOR: Final = "io.k8s.kube-aggregator.pkg.apis."
GENERATED_PREFIXES: Final = (_API, _AGGREGATOR)
"""Prefixes of the names of built-in definitions that generated data may have."""
_OTHER_PACKAGES: Final = {
    "": "io.k8s.api.core",
    "apiregistration.k8s.io": f"{_AGGREGATOR}apiregistration",
    "internal.apiserver.k8s.io": "io.k8s.api.apiserverinternal",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
}


def model_name(kind: GroupVersionKind) -> str:
    """Return the definition name of a custom kind: the group's labels reversed, then version and kind."""
    group = ".".join(reversed(kind.group.split(".")))
    return f"{group}.{kind.version}.{kind.kind}"


def builtin_model_name(kind: GroupVersionKind) -> str:
    """Return the definition name of a built-in kind."""
    package = _OTHER_PACKAGES.get(kind.group) or f"{_API}{kind.group.partition('.')[0]}"
    return f"{package}.{kind.version}.{kind.kind}"


def document_path(group_version: GroupVersion) -> str:
    """Return the path of a group and version's v3 document below /openapi/v3."""
    return f"apis/{group_version}" if group_version.group else f"api/{group_version}"


def operation_id(verb: str, rest: str, group_version: GroupVersion) -> str:
    """Return an operation ID: verb, group, version, then `rest`."""
    parts = (_trimmed(group_version.group), group_version.version, rest)
    return verb + "".join(_identifier(part, capital=True) for part in parts)


def tag(group_version: GroupVersion) -> str:
    """Return the tag of the operations of a group and version."""
    return f"{group_tag(group_version.group)}_{_identifier(group_version.version)}"


def group_tag(group: str) -> str:
    """Return the tag of the operations of a group without a version."""
    return _identifier(_trimmed(group))


def article(noun: str) -> str:
    """Return " a " or " an " for a noun, " " for a plural."""
    if noun.endswith("s") and not noun.endswith("ss"):
        return " "
    return " an " if noun[:1].lower() in set("aeiou") else " a "


def _trimmed(group: str) -> str:
    return (group or "core").removesuffix(".k8s.io")


def _identifier(text: str, *, capital: bool = False) -> str:
    """Remove characters other than letters, digits and underscores, and capitalize the letter after each."""
    letters = []
    for index, char in enumerate(text):
        if char.isalpha() or char == "_" or (index and char.isdigit()):
            letters.append(char.upper() if capital else char)
            capital = False
        else:
            capital = True
    return "".join(letters)
