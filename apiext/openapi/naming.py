"""Names of definitions, operations and tags.

Mirrors apiserver pkg/endpoints/openapi, and gvkToModelName of apiextensions-apiserver's OpenAPI builder.
"""

from __future__ import annotations

from typing import Final

from apiext.meta.gvk import GroupVersion, GroupVersionKind

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
VERSION_INFO: Final = "io.k8s.apimachinery.pkg.version.Info"
SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
_BUILTIN_PACKAGES: Final = {
    "": "io.k8s.api.core",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
}


def model_name(kind: GroupVersionKind) -> str:
    """Return the definition name of a custom kind: the group's labels reversed, then version and kind."""
    group = ".".join(reversed(kind.group.split(".")))
    return f"{group}.{kind.version}.{kind.kind}"


def builtin_model_name(kind: GroupVersionKind) -> str:
    """Return the definition name of a built-in kind.

    Raises:
        KeyError: no built-in definitions have the group.
    """
    return f"{_BUILTIN_PACKAGES[kind.group]}.{kind.version}.{kind.kind}"


def document_path(group_version: GroupVersion) -> str:
    """Return the path of a group and version's v3 document below /openapi/v3."""
    return f"apis/{group_version}" if group_version.group else f"api/{group_version}"


def operation_id(verb: str, rest: str, group_version: GroupVersion) -> str:
    """Return an operation ID: verb, group, version, then `rest`."""
    group, version = _trimmed(group_version)
    return verb + _identifier(group, capital=True) + _identifier(version, capital=True) + _identifier(rest, capital=True)


def tag(group_version: GroupVersion) -> str:
    """Return the tag of the operations of a group and version."""
    group, version = _trimmed(group_version)
    return f"{_identifier(group)}_{_identifier(version)}"


def article(noun: str) -> str:
    """Return the article of a noun between spaces: "a" or "an", one space before a plural."""
    if noun.endswith("s") and not noun.endswith("ss"):
        return " "
    return " an " if noun[:1].lower() in set("aeiou") else " a "


def group_name(group: str) -> str:
    """Return the name of a built-in group in tags."""
    return _identifier(_trimmed(GroupVersion(group, ""))[0])


def capitalized(name: str) -> str:
    """Return a name as a part of an operation ID."""
    return _identifier(name, capital=True)


def _trimmed(group_version: GroupVersion) -> tuple[str, str]:
    return (group_version.group or "core").removesuffix(".k8s.io"), group_version.version


def _identifier(text: str, *, capital: bool = False) -> str:
    """Return letters, digits and underscores only; a letter after any other character becomes a capital."""
    letters = []
    for index, char in enumerate(text):
        if char.isalpha() or char == "_" or (index and char.isdigit()):
            letters.append(char.upper() if capital else char)
            capital = False
        else:
            capital = True
    return "".join(letters)
