"""Comparison of two schemas: one walk through both, which visits each node once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from apiext.base.meta.encoding.json_values import equal
from apiext.resources.comparison.cel_rules import rule_changes
from apiext.resources.comparison.change import UngradedChange
from apiext.resources.comparison.clause_keywords import CLAUSE_RULES, without_simple_clauses
from apiext.resources.comparison.field_keywords import FIELD_RULES, OtherFields, map_values, other_fields
from apiext.resources.comparison.rules import RULES as RULE_TABLE
from apiext.resources.comparison.type_keywords import TYPE_RULES, are_comparable, type_changes, type_of
from apiext.resources.comparison.value_keywords import VALUE_RULES, KeywordRule
from apiext.schema.model import RULES, Props
from apiext.schema.pruning import META_FIELDS

_NO_SCHEMA: Final[Props] = {}
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_UNKNOWN: Final[Props] = {_PRESERVES: True, "nullable": True}
"""What holds for a value that the server keeps without a schema."""
_OF_UNKNOWN: Final = frozenset({"type", "default"})
"""Subjects of the changes of a value that had no schema, or has none any longer, if the other schema has a type: it excludes the rest."""
_BELOW_ANY: Final = frozenset({"default", "field", "specifiedField", "mapValues", "unknownFields", "mapOfUnknown"})
"""Subjects of the changes below a value whose type was, or is, any: the change of its type includes the others."""
_MOST_NODES: Final = 100_000
"""Schemas below the values of a map with which fields are compared, counted once for each field."""

CHILDREN: Final = frozenset({"properties", "items"})
"""Keywords without a rule: the comparison of schemas compares the schemas below them."""
KEYWORD_RULES: Final[Mapping[str, KeywordRule]] = MappingProxyType(
    {**VALUE_RULES, **TYPE_RULES, **FIELD_RULES, **CLAUSE_RULES, RULES: rule_changes}
)
"""Rules by keyword. Keywords that only have a meaning together have the same rule."""


class _Place(Enum):
    """What the value of a schema is: the server knows fields of resources and their metadata without a schema."""

    RESOURCE = "resource"
    METADATA = "metadata"
    FIELD = "field"


def compare_schemas(old: Props | None, new: Props | None) -> list[UngradedChange]:
    """Return the changes from one schema of a resource to another. Below a change of type, and below added or removed fields, is none.

    A field that only one of them names is no added or removed one if the other keeps it: as a value of a map, or as an unknown field. What
    holds for it there is compared, too.
    """
    changes: list[UngradedChange] = []
    _compare(old or _NO_SCHEMA, new or _NO_SCHEMA, "", _Place.RESOURCE, changes)
    return changes


def _compare(
    old: Props, new: Props, path: str, place: _Place, changes: list[UngradedChange], *, is_required: bool = False, is_part: bool = False
) -> None:
    """Collect the changes of a node and of those below it. `is_part`: a list or map around it is atomic in both schemas."""
    if old is new:
        return
    if not are_comparable(old, new):
        changes += (change._replace(path=path) for change in type_changes(old, new))
        return
    if not equal(old.get("allOf"), new.get("allOf")):
        old, new = without_simple_clauses(old), without_simple_clauses(new)
    own = [*_own_changes(old, new, path, place, is_required=is_required, is_part=is_part)]
    if place is _Place.FIELD and (old.get(_EMBEDDED) is True or new.get(_EMBEDDED) is True):
        place = _Place.RESOURCE
    below: list[UngradedChange] = []
    is_atomic = is_part or all(props.get("x-kubernetes-map-type") == "atomic" for props in (old, new))
    _compare_properties(old, new, path, place, below, is_part=is_atomic)
    if any(isinstance(props.get("items"), Mapping) for props in (old, new)):
        _compare(_items(old), _items(new), f"{path}[]", _Place.FIELD, below, is_part=is_part or (_is_one_list(old) and _is_one_list(new)))
    value, other_value = _values(old, place), _values(new, place)
    if value is not None and other_value is not None:
        _compare(value, other_value, f"{path}[*]", _Place.FIELD, below, is_part=is_atomic)
    if type_of(old) != type_of(new) and (_has_no_structure(old) or _has_no_structure(new)):
        is_unknown = old is _UNKNOWN or new is _UNKNOWN
        own = _about(_OF_UNKNOWN, own) if is_unknown else own
        below = _about(_OF_UNKNOWN - {"type"} if is_unknown else _BELOW_ANY, below)
    changes += own
    changes += below


def _own_changes(old: Props, new: Props, path: str, place: _Place, *, is_required: bool, is_part: bool) -> Iterator[UngradedChange]:
    """Yield the changes of the keywords of a node."""
    for rule in _rules_of_changed_keywords(old, new):
        for change in rule(old, new):
            name = change.rule
            if is_required and name == "defaultAdded":
                name = "requiredDefaultAdded"
            elif is_part and (name == "mapTypeChanged" or (name == "listTypeChanged" and _is_one_list(new))):
                name = "mergedPartChanged"
            elif place is _Place.METADATA:
                name = _IN_METADATA.get(name, name)
            yield change._replace(rule=name, path=_join(path, change.path))


def _is_one_list(props: Props) -> bool:
    """Report whether appliers replace a list as a whole, and the server lets it repeat items."""
    return (props.get("x-kubernetes-list-type") or "atomic") == "atomic"


def _has_no_structure(props: Props) -> bool:
    """Report whether a schema says nothing of the type of values, nor of what they have."""
    return not type_of(props) and not any(props.get(keyword) for keyword in ("properties", "items", "additionalProperties"))


def _about(subjects: frozenset[str], changes: list[UngradedChange]) -> list[UngradedChange]:
    return [change for change in changes if RULE_TABLE[change.rule].subject in subjects]


def _items(props: Props) -> Props:
    """Return what holds for the items of a list."""
    items = props.get("items")
    found: Props = items if isinstance(items, Mapping) else _NO_SCHEMA
    # a list that preserves unknown fields preserves those of its items, too
    return {**found, _PRESERVES: True} if props.get(_PRESERVES) is True else found


def _values(props: Props, place: _Place) -> Props | None:
    """Return what holds for fields that properties do not name, None if they are dropped."""
    values = map_values(props)
    if values is None and (place is _Place.METADATA or other_fields(props) is OtherFields.UNKNOWN):
        return _UNKNOWN
    return values


_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_MAPS: Final = "additionalProperties"
_IN_METADATA: Final = {"mapValuesAdded": "unknownFieldsSpecified", "mapValuesRemoved": "unknownFieldsUnspecified"}
"""Rules for metadata, whose fields the server keeps without a schema."""


def _rules_of_changed_keywords(old: Props, new: Props) -> dict[KeywordRule, None]:
    rules: dict[KeywordRule, None] = {}
    for keyword, value in old.items():
        # map values are compared node by node, later
        if (rule := KEYWORD_RULES.get(keyword)) and (keyword == _MAPS or not equal(value, new.get(keyword))):
            rules[rule] = None
    for keyword in new:
        if keyword not in old and (rule := KEYWORD_RULES.get(keyword)):
            rules[rule] = None
    return rules


def _compare_properties(old: Props, new: Props, path: str, place: _Place, changes: list[UngradedChange], *, is_part: bool) -> None:
    before: Mapping[str, Any] = old.get("properties") or _NO_SCHEMA
    after: Mapping[str, Any] = new.get("properties") or _NO_SCHEMA
    required = set(old.get("required") or ()).intersection(new.get("required") or ())
    is_compared = _can_compare(old, new, len(before.keys() ^ after.keys()))
    if not is_compared:
        changes.append(UngradedChange("typeChanged", "too many fields are, or were, values of a map to compare each of them", path))
    for name in {**before, **after}:
        field = _join(path, name)
        named: Props = after.get(name) or before.get(name) or _NO_SCHEMA
        former = (before[name] or _NO_SCHEMA) if name in before else _unnamed(name, old, place, named)
        latter = (after[name] or _NO_SCHEMA) if name in after else _unnamed(name, new, place, named)
        if (name in before) != (name in after) and not _is_implied(name, place):
            is_added = name in after
            changes.append(_naming(field, named, old if is_added else new, is_added=is_added))
            if not is_compared:
                continue
        if former is not None and latter is not None:
            _compare(former, latter, field, _place_of(name, place), changes, is_required=name in required, is_part=is_part)


def _can_compare(old: Props, new: Props, moved: int) -> bool:
    """Report whether fields that only one schema names are few enough to be compared with the values of a map that the other has."""
    pending: list[Any] = [values for props in (old, new) if moved > 1 and (values := map_values(props)) is not None]
    nodes = 0
    while pending and moved * nodes <= _MOST_NODES:
        props = pending.pop()
        nodes += 1
        pending += filter(None, (map_values(props), *(props.get("properties") or _NO_SCHEMA).values()))
        if isinstance(props.get("items"), Mapping):
            pending.append(props["items"])
    return moved * nodes <= _MOST_NODES


def _naming(field: str, named: Props, other: Props, *, is_added: bool) -> UngradedChange:
    """Return the change for a field that only one of two schemas names; `other` is the one that does not."""
    kept = other_fields(other)
    dropped = kept is OtherFields.DROPPED
    if is_added:
        rule, message = "fieldAdded" if dropped else "fieldSpecified", "added"
        message += "" if dropped else f" to the schema, and was {kept.value}"
    else:
        rule, message = "fieldRemoved" if dropped else "fieldUnspecified", "removed"
        message += "" if dropped else f" from the schema, and is {kept.value}"
    return UngradedChange(rule, f"the field{_described(named)} was {message}", field)


def _unnamed(name: str, props: Props, place: _Place, named: Props) -> Props | None:
    """Return what holds for a field that a schema does not name, and another one does; None if it is dropped."""
    values = map_values(props)
    if values is not None:
        # a default of a map's values is not set where a key is missing
        return {keyword: value for keyword, value in values.items() if keyword != "default"}
    if _is_implied(name, place):
        return _implied(named)
    return _UNKNOWN if other_fields(props) is OtherFields.UNKNOWN else None


def _is_implied(name: str, place: _Place) -> bool:
    return place is _Place.METADATA or (place is _Place.RESOURCE and name in META_FIELDS)


def _implied(other: Props) -> Props:
    """Return the schema of a field that the server knows without one."""
    return {"type": other["type"]} if "type" in other else _NO_SCHEMA


def _place_of(name: str, place: _Place) -> _Place:
    return _Place.METADATA if place is _Place.RESOURCE and name == "metadata" else _Place.FIELD


def _described(props: Props) -> str:
    return f" ({type_of(props) or 'of any type'})"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name
