"""Definitions of built-in types, in their OpenAPI v3 form, as the files of data/ hold them.

Mirrors the generated definitions of apimachinery, api and apiextensions-apiserver (pkg/generated/openapi).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson

from apiext.meta.gvk import GroupVersion
from apiext.openapi import naming

_KINDS: Final = "x-kubernetes-group-version-kind"
_OF_ALL_GROUPS: Final = ("DeleteOptions", "WatchEvent")
V3_PREFIX: Final = "#/components/schemas/"
_FILES: Final = ("meta", "core", "apiextensions", "autoscaling")


@cache
def builtin_types() -> dict[str, dict[str, Any]]:
    """All built-in definitions by name; not to be changed. Read once, when first asked for."""
    folder = files("apiext.openapi") / "data"
    merged: dict[str, dict[str, Any]] = {}
    for name in _FILES:
        merged |= orjson.loads((folder / f"{name}.json").read_bytes())
    return merged


def closure(names: Iterable[str], groups: Iterable[GroupVersion] = ()) -> dict[str, dict[str, Any]]:
    """Those of the built-in definitions among `names`, with all that they refer to, sorted by name.

    Kinds that every group knows are said to be of `groups`.
    """
    types = builtin_types()
    found: dict[str, dict[str, Any]] = {}
    waiting = [name for name in names if name in types]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = types[name]
            waiting += references(types[name])
    for kind in _OF_ALL_GROUPS:
        if (name := f"{naming.META}.{kind}") in found:
            found[name] = {**found[name], _KINDS: [{"group": group, "kind": kind, "version": version} for group, version in groups]}
    return dict(sorted(found.items()))


def references(schema: Any) -> Iterator[str]:
    """Names of the definitions that a schema refers to."""
    if isinstance(schema, dict):
        for key, member in schema.items():
            # a property may be called $ref; a reference is always text
            if key == "$ref" and isinstance(member, str):
                yield member.removeprefix(V3_PREFIX)
            else:
                yield from references(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from references(member)
