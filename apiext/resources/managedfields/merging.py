"""Merges an applied value into a live one (structured-merge-diff typed/merge.go)."""

from __future__ import annotations

from collections import deque
from typing import Any

from apiext.resources.managedfields.field_set import LEAF
from apiext.resources.managedfields.merge_types import ListType, MapType, MergeType


def merge(merge_type: MergeType, live: Any, applied: Any) -> Any:
    """Return the live value with all fields and items of the applied one. Remove nothing.

    The live list may have duplicate items. Items keep the order of the live list unless the applied one changes it. The result shares
    unchanged parts with the arguments.
    """
    kind = merge_type.kind(applied)
    if kind is dict and merge_type.map is not None:
        return _merge_maps(merge_type.map, live, applied)
    return _merge_lists(merge_type.list, live, applied) if kind is list and merge_type.list is not None else applied


def _merge_maps(map_type: MapType, live: Any, applied: Any) -> Any:
    old, new = live if type(live) is dict else LEAF, applied if type(applied) is dict else LEAF
    if map_type.atomic or not (old or new):
        return applied
    result = dict(old)
    for name, item in new.items():
        if name in old:
            below = map_type.field(name)[1]
            result[name] = item if item is not None and type(item) in below.scalars else merge(below, old[name], item)
        else:
            result[name] = item
    return result


def _merge_lists(list_type: ListType, live: Any, applied: Any) -> Any:
    old, new = live if type(live) is list else [], applied if type(applied) is list else []
    if not list_type.associative or not (old or new):
        return applied
    names, had = [list_type.element_of(item) for item in old], {}
    for name, item in zip(names, old, strict=True):
        # Duplicate items are not merged.
        had[name] = None if name in had else item
    has = {list_type.element_of(item): item for item in new}
    if len(has) == len(names) and list(has) == names:
        return [merge(list_type.element, item, has[name]) for name, item in had.items()]
    return [
        old[at] if name not in has else merge(list_type.element, had[name], has[name]) if name in had else has[name]
        for name, at in _order(names, list(has), had)
    ]


def _order(old: list[str], new: list[str], had: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the elements of the merged list, and the positions of those that are only in the live list."""
    applied, merged = set(new), set()
    shared = deque(name for name in new if name in had)
    result: list[tuple[str, int]] = []
    left = right = 0
    while left < len(old) or right < len(new):
        if left < len(old) and right < len(new):
            name = old[left]
            if name == new[right]:
                merged.add(name)
                result.append((name, left))
                left, right = left + 1, right + 1
                if shared:
                    shared.popleft()
                continue
            if name in applied and shared and shared[0] != name:
                # A common item that comes later in the applied list.
                left += 1
                continue
        if left < len(old):
            name = old[left]
            if name not in applied:
                result.append((name, left))
                left += 1
                continue
            if name in merged:
                left += 1
        if right < len(new):
            name = new[right]
            merged.add(name)
            result.append((name, 0))
            right += 1
            if shared and shared[0] == name:
                shared.popleft()
    return result
