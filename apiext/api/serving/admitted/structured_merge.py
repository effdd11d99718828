"""Merges apply configurations of policies into objects, without field managers.

Mirrors ApplyStructuredMergeDiff of apiserver pkg/admission/plugin/policy/mutating/patch/smd.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.base.meta.gvk import parse_group_version
from apiext.resources.managedfields.merging import merge
from apiext.resources.managedfields.validation import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.managedfields.merge_types import MergeType


def merge_configuration(merge_type: MergeType | None, obj: Object, configuration: Object) -> Object:
    """Return an object with a configuration merged into it. The result shares members with both.

    Raises:
        ValueError: the configuration is of another kind, does not have the type, or contains values that are replaced as a whole. The
            text is the reference's.
    """
    if _kind_text(obj) != _kind_text(configuration):
        raise ValueError(f"patch ({_kind_text(configuration)}) and original object ({_kind_text(obj)}) are not of the same gvk")
    if merge_type is None:
        raise ValueError("type converter must not be nil")
    try:
        check(merge_type, configuration, foreign=True)
    except ValueError as error:
        raise ValueError(f"failed to convert patch object to typed object: {error}") from error
    if atomic := list(_atomic_paths(merge_type, configuration, "")):
        raise ValueError(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {', '.join(atomic)}")
    try:
        check(merge_type, obj, duplicates=True)
    except ValueError as error:
        raise ValueError(f"failed to convert original object to typed object: {error}") from error
    merged: Object = merge(merge_type, obj, configuration)
    return merged


def _atomic_paths(merge_type: MergeType, value: Any, path: str) -> Iterator[str]:
    """Yield the paths of values that have one owner, below declared fields."""
    if type(value) is dict and (map_type := merge_type.map) is not None:
        if map_type.atomic:
            yield path
        for name, member in value.items():
            if name in map_type.fields:
                yield from _atomic_paths(map_type.fields[name][1], member, f"{path}.{name}")
    elif type(value) is list and (list_type := merge_type.list) is not None:
        if not list_type.associative:
            yield path
        for place, item in enumerate(value):
            yield from _atomic_paths(list_type.element, item, f"{path}[{place}]")


def _kind_text(obj: Object) -> str:
    """Return a kind as the reference prints a GroupVersionKind."""
    group, version = parse_group_version(str(obj.get("apiVersion") or ""))
    return f"{group}/{version}, Kind={obj.get('kind') or ''}"
