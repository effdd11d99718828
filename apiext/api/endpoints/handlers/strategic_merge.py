"""Strategic merge patches of built-in kinds.

Mirrors apimachinery pkg/util/strategicpatch: as a JSON merge patch, but lists with a merge key (or of scalars with the merge
strategy) merge, and directives select other operations. Never changes its arguments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

from apiext.base.meta import errors, unstructured
from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.json_values import identity

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"
_END: Final = object()

OBJECT_META_KEYS: Final = {"metadata.finalizers": "", "metadata.ownerReferences": "uid"}
"""Merge keys of the lists in ObjectMeta; "" for a list of scalars with the merge strategy."""
REPLACE: Final = "$replace"
"""Stands for a merge key at an object that a patch replaces."""


def strategic_merge(document: Any, patch: Any, merge_keys: Mapping[str, str], parent: str = "") -> Any:
    """Return the document with the patch applied.

    `merge_keys` has the merge key of each list by the name of its parent and its own, such as "metadata.finalizers".

    Raises:
        StatusError: 400 for a directive of the wrong form, 500 for another invalid directive or a list item without its merge key.
    """
    if not isinstance(patch, dict):
        return json_values.copy(patch)
    if _DIRECTIVE in patch:
        return _directed(patch)
    merged = dict(document) if isinstance(document, dict) else {}
    _retain(merged, patch)
    left = {key: member for key, member in patch.items() if key != _RETAIN and not key.startswith(_ORDER)}
    for key in patch:
        if key.startswith(_ORDER):
            _merge_ordered(merged, left, patch[key], key.removeprefix(_ORDER), merge_keys, parent)
    for key, member in left.items():
        _merge_member(merged, key, member, merge_keys, parent)
    return merged


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a patch with a directive for the whole object."""
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {key: json_values.copy(member) for key, member in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: Any, patch: dict[str, Any]) -> errors.StatusError:
    return errors.unknown(f"unknown patch type: {unstructured.go_string(directive)} in map: {unstructured.go_string(patch)}")


def _retain(merged: dict[str, Any], patch: dict[str, Any]) -> None:
    """Remove the members that the directive does not name."""
    if _RETAIN not in patch:
        return
    kept = patch[_RETAIN]
    names = set(filter(lambda name: isinstance(name, str), kept)) if isinstance(kept, list) else None
    changed = (key for key, member in patch.items() if member is not None and key != _RETAIN and not key.startswith((_ORDER, _DELETE_FROM)))
    if names is None or not names.issuperset(changed):
        raise errors.bad_request("invalid patch format of retainKeys")
    for key in merged.keys() - names:
        del merged[key]


def _merge_member(merged: dict[str, Any], key: str, member: Any, merge_keys: Mapping[str, str], parent: str) -> None:
    if key.startswith(_DELETE_FROM):
        _delete_from(merged, key[len(_DELETE_FROM) :], member)
    elif member is None:
        merged.pop(key, None)
    elif type(merged.get(key)) is not type(member) or not isinstance(member, dict | list):
        new = _without_directives(member)
        if new is None:
            merged.pop(key, None)
        else:
            merged[key] = new
    elif isinstance(member, dict):
        is_replaced = merge_keys.get(f"{parent}.{key}") == REPLACE
        merged[key] = json_values.copy(member) if is_replaced else strategic_merge(merged[key], member, merge_keys, key)
    else:
        merged[key] = _merge_list(merged[key], member, merge_keys, parent, key)


def _delete_from(merged: dict[str, Any], key: str, member: Any) -> None:
    old = merged.get(key)
    if isinstance(old, list) and isinstance(member, list):
        deleted = set(map(identity, member))
        merged[key] = [item for item in old if identity(item) not in deleted]


def _without_directives(value: Any) -> Any:
    """Return a new value without nulls and without objects that have a directive; None if it has one itself."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return None
        members = ((key, _without_directives(member)) for key, member in value.items())
        return {key: member for key, member in members if member is not None}
    if isinstance(value, list):
        return [None if item is None else new for item in value if (new := _without_directives(item)) is not None or item is None]
    return value


# --- lists ----------------------------------------------------------------------------------------------------------


def _merge_ordered(merged: dict[str, Any], patch: dict[str, Any], order: Any, key: str, merge_keys: Mapping[str, str], parent: str) -> None:
    """Merge a list whose order the patch sets; take its changes out of the patch."""
    before, changes = merged.get(key), patch.get(key)
    for found in (order, *(each[key] for each in (merged, patch) if key in each)):
        if not isinstance(found, list):
            raise errors.unknown(f"expected a []interface {{}}, but received a {_go_type(found)}")
    merge_key = merge_keys.get(f"{parent}.{key}")
    _check_order(changes or [], order, merge_key or "")
    if before is None and changes is None:
        return
    if before is None:
        items = _without_directives(changes)
    else:
        items = before if changes is None else _merge_list(before, changes, merge_keys, parent, key)
    if not before and not changes:
        raise errors.unknown("no elements in any of the given slices")
    merged[key] = _ordered(items, order, before or [], merge_key or "")
    patch.pop(key, None)


def _go_type(value: Any) -> str:
    return "%!s(<nil>)" if value is None else unstructured.type_name(value)


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    """Check that a list has the order that the patch sets."""
    if not changes or not order:
        return
    items = [item for item in changes if not (isinstance(item, dict) and item.get(_DIRECTIVE) == "delete")]
    place = 0
    names = iter(order)
    while place < len(items) and (name := next(names, _END)) is not _END:
        # the reference skips other directives only before the end of the order
        while place < len(items) and isinstance(items[place], dict) and _DIRECTIVE in items[place]:
            place += 1
        if place < len(items):
            place += _has_name(items[place], name, merge_key)
    if place < len(items):
        shown = unstructured.go_string(changes), unstructured.go_string(order)
        raise errors.unknown(f"The order in patch list:\n{shown[0]}\n doesn't match $setElementOrder list:\n{shown[1]}\n")


def _has_name(item: Any, name: Any, merge_key: str) -> bool:
    for each in (item, name) if merge_key else ():
        if isinstance(each, dict) and merge_key not in each:
            raise _no_merge_key(each, merge_key)
    return _name(item, merge_key) == _name(name, merge_key)


def _merge_list(old: list[Any], patch: list[Any], merge_keys: Mapping[str, str], parent: str, key: str) -> list[Any]:
    merge_key = merge_keys.get(f"{parent}.{key}")
    if merge_key is None:
        copied: list[Any] = json_values.copy(patch)
        return copied
    if not old and not patch:
        return old
    _check_types([*old, *patch], (old, patch))
    if not isinstance((*old, *patch)[0], dict):
        return _ordered(_distinct([*old, *patch]), patch, old, "")
    if not merge_key:
        raise errors.unknown(f"cannot merge lists without merge key for {key}")
    old, patch = _follow_directives(old, patch, merge_key)
    items = list(old)
    places = {identity(item[merge_key]): place for place, item in reversed(list(enumerate(items))) if merge_key in item}
    for change in patch:
        if merge_key not in change:
            raise _no_merge_key(change, merge_key)
        name = identity(change[merge_key])
        place = places.get(name)
        if place is None:
            places[name] = len(items)
            items.append(json_values.copy(change))
        else:
            items[place] = strategic_merge(items[place], change, merge_keys, key)
            if merge_key not in items[place]:
                del places[name]
    for item in items:
        if merge_key not in item:
            raise _no_merge_key(item, merge_key)
    return _ordered(items, patch, old, merge_key)


def _check_types(items: Iterable[Any], shown: tuple[list[Any], list[Any]]) -> None:
    types = set(map(type, items))
    if list in types:
        raise errors.StatusError(422, "", "lists of lists are not supported")
    if len(types) > 1:
        raise errors.unknown(f"list element types are not identical: {unstructured.go_string(list(shown))}")


def _distinct(items: list[Any]) -> list[Any]:
    return list({identity(item): item for item in reversed(items)}.values())[::-1]


def _follow_directives(old: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Return the old items and the changes that are left after the directives in the changes."""
    changes, deleted, replaces = [], set[Hashable](), False
    for change in patch:
        if _DIRECTIVE not in change:
            changes.append(change)
        elif change[_DIRECTIVE] == "delete":
            if merge_key not in change:
                raise _no_merge_key(change, merge_key)
            deleted.add(identity(change[merge_key]))
        elif change[_DIRECTIVE] == "replace":
            replaces = True
        elif change[_DIRECTIVE] == "merge":
            raise errors.unknown("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(change[_DIRECTIVE], change)
    if replaces:
        return json_values.copy(changes), []
    return [item for item in old if merge_key not in item or identity(item[merge_key]) not in deleted], changes


def _no_merge_key(item: Any, merge_key: str) -> errors.StatusError:
    return errors.unknown(f"map: {unstructured.go_string(item)} does not contain declared merge key: {merge_key}")


def _name(item: Any, merge_key: str) -> Hashable:
    return identity(item.get(merge_key) if merge_key and isinstance(item, dict) else item)


def _ordered(merged: list[Any], patch: list[Any], before: list[Any], merge_key: str) -> list[Any]:
    """Return merged items in the patch's order. The others keep their places among them, or follow at the end."""
    wanted = _places(patch, merge_key)
    known = _places(before, merge_key)
    first = sorted((item for item in merged if _name(item, merge_key) in wanted), key=lambda item: wanted[_name(item, merge_key)])
    others = deque(item for item in merged if _name(item, merge_key) not in wanted)
    ordered: list[Any] = []
    for item in first:
        place = known.get(_name(item, merge_key), -1)
        while others and known.get(_name(others[0], merge_key), len(before)) < place:
            ordered.append(others.popleft())
        ordered.append(item)
    return [*ordered, *others]


def _places(items: list[Any], merge_key: str) -> dict[Hashable, int]:
    """Return the first place of each item."""
    return {_name(item, merge_key): place for place, item in reversed(list(enumerate(items)))}
