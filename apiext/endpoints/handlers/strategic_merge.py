"""Strategic merge patches of built-in kinds (namespaces and events).

Mirrors apimachinery pkg/util/strategicpatch: like a JSON merge patch, but lists with a merge key (or of scalars with the
merge strategy) are merged, and directives select other operations. Arguments are never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apiext.meta import errors, json_values

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"

OBJECT_META_KEYS: Final = {"finalizers": "", "ownerReferences": "uid"}
"""Merge keys of the lists in ObjectMeta; "" for a list of scalars with the merge strategy."""


def strategic_merge(document: Any, patch: Any, merge_keys: Mapping[str, str]) -> Any:
    """Return the document with the patch applied. `merge_keys` has the merge key of each list by its field name.

    Raises:
        StatusError: 400 for an invalid directive, or a list item without its merge key.
    """
    if not isinstance(patch, dict):
        return json_values.copy(patch)
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: json_values.copy(member) for key, member in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in {None, "merge"}:
        raise errors.bad_request(f"unknown patch type: {directive} in map: {patch}")
    merged = json_values.copy(document) if isinstance(document, dict) else {}
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
        merged[key] = json_values.copy(member)


def _merge_list(old: Any, patch: list[Any], merge_key: str, merge_keys: Mapping[str, str]) -> list[Any]:
    items = list(old) if isinstance(old, list) else []
    if not merge_key:
        return items + [item for item in patch if item not in items]
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in patch):
        return [json_values.copy(item) for item in patch if not (isinstance(item, dict) and item.get(_DIRECTIVE) == "replace")]
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
