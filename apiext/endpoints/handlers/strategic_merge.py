"""Strategic merge patches, for the built-in kinds that clients patch so (namespaces and events).

Mirrors apimachinery pkg/util/strategicpatch: like a JSON merge patch, but lists that have a merge key (or hold scalars and
merge) are merged, and directives say what else to do. Documents given are never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apiext.meta import errors
from apiext.meta.patch import deep_copy

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"

OBJECT_META_KEYS: Final = {"finalizers": "", "ownerReferences": "uid"}
"""Merge keys of the lists that all metadata has; "" for a list of scalars that merges."""


def strategic_merge(document: Any, patch: Any, merge_keys: Mapping[str, str]) -> Any:
    """The document with the patch merged in; `merge_keys` names the key of each list that is merged, by its field.

    Raises:
        StatusError: 400 for directives that make no sense.
    """
    if not isinstance(patch, dict):
        return deep_copy(patch)
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: deep_copy(member) for key, member in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in {None, "merge"}:
        raise errors.bad_request(f"unknown patch type: {directive} in map: {patch}")
    merged = deep_copy(document) if isinstance(document, dict) else {}
    _retain(merged, patch)
    for key, member in patch.items():
        _merge_member(merged, key, member, merge_keys)
    return merged


def _retain(merged: dict[str, Any], patch: dict[str, Any]) -> None:
    kept = patch.get(_RETAIN)
    if isinstance(kept, list):
        for key in [key for key in merged if key not in kept]:
            del merged[key]


def _merge_member(merged: dict[str, Any], key: str, member: Any, merge_keys: Mapping[str, str]) -> None:
    if key.startswith(_DELETE_FROM):
        field = key[len(_DELETE_FROM) :]
        if not isinstance(member, list):
            raise errors.bad_request(f"invalid list in {key}")
        merged[field] = [item for item in merged.get(field) or [] if item not in member]
    elif key in {_DIRECTIVE, _RETAIN} or key.startswith(_ORDER):
        return
    elif member is None:
        merged.pop(key, None)
    elif isinstance(member, dict):
        merged[key] = strategic_merge(merged.get(key), member, merge_keys)
    elif isinstance(member, list) and key in merge_keys:
        merged[key] = _merge_list(merged.get(key), member, merge_keys[key], merge_keys)
    else:
        merged[key] = deep_copy(member)


def _merge_list(old: Any, patch: list[Any], merge_key: str, merge_keys: Mapping[str, str]) -> list[Any]:
    items = list(old) if isinstance(old, list) else []
    if not merge_key:
        return items + [item for item in patch if item not in items]
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in patch):
        return [deep_copy(item) for item in patch if not (isinstance(item, dict) and item.get(_DIRECTIVE) == "replace")]
    for change in patch:
        if not isinstance(change, dict) or merge_key not in change:
            raise errors.bad_request(f"map: {change} does not contain declared merge key: {merge_key}")
        at = next((index for index, item in enumerate(items) if item.get(merge_key) == change[merge_key]), None)
        if change.get(_DIRECTIVE) == "delete":
            if at is not None:
                del items[at]
        elif at is None:
            items.append(strategic_merge({}, change, merge_keys))
        else:
            items[at] = strategic_merge(items[at], change, merge_keys)
    return items
