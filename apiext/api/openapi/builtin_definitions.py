"""OpenAPI v3 definitions of built-in types, from the files in data/.

Mirrors the generated definitions of apimachinery, api and apiextensions-apiserver (pkg/generated/openapi).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson

from apiext.api.openapi import naming
from apiext.base.meta.gvk import GroupVersion

_KINDS: Final = "x-kubernetes-group-version-kind"
_IN_ALL_GROUPS: Final = ("DeleteOptions", "WatchEvent")
V3_PREFIX: Final = "#/components/schemas/"
_FILES: Final = (
    "meta",
    "core",
    "admissionregistration",
    "apiextensions",
    "autoscaling",
    "storagemigration",
    "apiserverinternal",
    "flowcontrol",
    "rbac",
    "coordination",
    "events",
    "authentication",
    "authorization",
)


@cache
def builtin_types() -> dict[str, dict[str, Any]]:
    """Return all built-in definitions by name. The first call reads them. Callers must not change them."""
    folder = files("apiext.api.openapi") / "data"
    merged: dict[str, dict[str, Any]] = {}
    for name in _FILES:
        merged |= orjson.loads((folder / f"{name}.json").read_bytes())
    return merged


@cache
def _all_types() -> dict[str, dict[str, Any]]:
    """Return the definitions of generated data, too."""
    from apiext.base.meta.generated import archive

    return {**archive.read("schemas"), **builtin_types()}


def closure(names: Iterable[str], groups: Iterable[GroupVersion] = ()) -> dict[str, dict[str, Any]]:
    """Return the built-in definitions among `names` and, recursively, those that they refer to, sorted by name.

    DeleteOptions and WatchEvent list `groups` as their groups and versions.
    """
    types = builtin_types()
    names = tuple(names)
    if any(name.startswith(naming.GENERATED_PREFIXES) and name not in types for name in names):
        types = _all_types()
    found: dict[str, dict[str, Any]] = {}
    queue = [name for name in names if name in types]
    while queue:
        name = queue.pop()
        if name not in found:
            found[name] = types[name]
            queue += references(types[name])
    for kind in _IN_ALL_GROUPS:
        if (name := f"{naming.META}.{kind}") in found:
            found[name] = {**found[name], _KINDS: [{"group": group, "kind": kind, "version": version} for group, version in groups]}
    return dict(sorted(found.items()))


def references(schema: Any) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to."""
    if isinstance(schema, dict):
        for key, member in schema.items():
            # a property may be named $ref; a reference is always a string
            if key == "$ref" and isinstance(member, str):
                yield member.removeprefix(V3_PREFIX)
            else:
                yield from references(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from references(member)
