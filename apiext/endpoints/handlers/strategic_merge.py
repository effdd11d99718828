"""Strategic merge patches of built-in kinds.

Mirrors apimachinery pkg/util/strategicpatch: as a JSON merge patch, but lists with a merge key (or of scalars with the merge
strategy) merge, and directives select other operations. Never changes its arguments.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from apiext.meta import errors, unstructured
from apiext.meta.encoding import json_values
from apiext.meta.encoding.json_values import identity

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"

OBJECT_META_KEYS: Final = {"metadata.finalizers": "", "metadata.ownerReferences": "uid"}
"""Merge keys of the lists in ObjectMeta; "" for a list of scalars with the merge strategy."""
REPLACE: Final = "$replace"
"""Stands for a merge key at an object that a patch replaces."""


def strategic_merge(document: Any, patch: Any, merge_keys: Mapping[str, str], parent: str = "") -> Any:
    """Return the document with the patch applied.

    `merge_keys` has the merge key of each list by the name of its parent and its own, such as "metadata.finalizers".

    Raises:
        StatusError: 400 for an invalid directive, 500 for a list item without its merge key.
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
        _merge_member(merged, key, member, merge_keys, parent)
    for key, order in patch.items():
        field = key.removeprefix(_ORDER)
        merge_key = merge_keys.get(f"{parent}.{field}")
        if field != key and merge_key is not None and merged.get(field) and isinstance(order, list):
            merged[field] = _ordered(merged[field], order, (document or {}).get(field) or [], merge_key)
    return merged


def _retain(merged: dict[str, Any], patch: dict[str, Any]) -> None:
    kept = patch.get(_RETAIN)
    if isinstance(kept, list):
        names = {name for name in kept if isinstance(name, str)}
        for key in [key for key in merged if key not in names]:
            del merged[key]


def _merge_member(merged: dict[str, Any], key: str, member: Any, merge_keys: Mapping[str, str], parent: str) -> None:
    if key.startswith(_DELETE_FROM):
        field = key[len(_DELETE_FROM) :]
        if not isinstance(member, list):
            raise errors.bad_request(f"invalid list in {key}")
        deleted = set(map(identity, member))
        merged[field] = [item for item in merged.get(field) or [] if identity(item) not in deleted]
    elif key in {_DIRECTIVE, _RETAIN} or key.startswith(_ORDER):
        return
    elif member is None:
        merged.pop(key, None)
    elif isinstance(member, dict) and merge_keys.get(f"{parent}.{key}") == REPLACE:
        merged[key] = json_values.copy(member)
    elif isinstance(member, dict):
        merged[key] = strategic_merge(merged.get(key), member, merge_keys, key)
    elif isinstance(member, list) and (merge_key := merge_keys.get(f"{parent}.{key}")) is not None:
        merged[key] = _merge_list(merged.get(key), member, merge_key, merge_keys, key)
    else:
        merged[key] = json_values.copy(member)


def _merge_list(old: Any, patch: list[Any], merge_key: str, merge_keys: Mapping[str, str], name: str) -> list[Any]:
    items = list(old) if isinstance(old, list) else []
    before = list(items)
    if not merge_key:
        known = set(map(identity, items))
        return _ordered(items + [item for item in patch if identity(item) not in known], patch, items, merge_key)
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in patch):
        return [json_values.copy(item) for item in patch if not (isinstance(item, dict) and item.get(_DIRECTIVE) == "replace")]
    places: dict[Hashable, list[int]] = {}
    for index in reversed(range(len(items))):
        places.setdefault(identity(items[index].get(merge_key)), []).append(index)
    for change in patch:
        if not isinstance(change, dict) or merge_key not in change:
            raise errors.unknown(f"map: {unstructured.go_string(change)} does not contain declared merge key: {merge_key}")
        at = places.setdefault(identity(change[merge_key]), [])
        if change.get(_DIRECTIVE) == "delete":
            if at:
                items[at.pop()] = None
        elif at:
            items[at[-1]] = strategic_merge(items[at[-1]], change, merge_keys, name)
        else:
            at.append(len(items))
            items.append(strategic_merge({}, change, merge_keys, name))
    return _ordered([item for item in items if item is not None], patch, before, merge_key)


def _ordered(merged: list[Any], patch: list[Any], before: list[Any], merge_key: str) -> list[Any]:
    """Return merged items in the patch's order. The others keep their places among them, or follow at the end."""

    def name(item: Any) -> Hashable:
        return identity(item.get(merge_key) if merge_key and isinstance(item, dict) else item)

    wanted = {name(item): place for place, item in reversed(list(enumerate(patch)))}
    known = {name(item): place for place, item in reversed(list(enumerate(before)))}
    first = sorted((item for item in merged if name(item) in wanted), key=lambda item: wanted[name(item)])
    others = [item for item in merged if name(item) not in wanted]
    ordered: list[Any] = []
    for item in first:
        place = known.get(name(item), -1)
        while others and known.get(name(others[0]), len(before)) < place:
            ordered.append(others.pop(0))
        ordered.append(item)
    return ordered + others
