"""Comparison of two schemas: one walk through both, which visits each node once."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from apiext.base.meta.encoding.json_values import equal
from apiext.resources.comparison.cel_rules import rule_changes
from apiext.resources.comparison.change import UngradedChange
from apiext.resources.comparison.clause_keywords import CLAUSE_RULES
from apiext.resources.comparison.field_keywords import FIELD_RULES, OtherFields, map_values, other_fields
from apiext.resources.comparison.type_keywords import TYPE_RULES, are_comparable, type_changes, type_of
from apiext.resources.comparison.value_keywords import VALUE_RULES, KeywordRule
from apiext.schema.model import RULES, Props
from apiext.schema.pruning import META_FIELDS

_NO_SCHEMA: Final[Props] = {}
_ANYTHING: Final[Props] = {"x-kubernetes-preserve-unknown-fields": True}

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
    """Return the changes from one schema of a resource to another. Below a change of type, and below added or removed fields, is none."""
    changes: list[UngradedChange] = []
    _compare(old or _NO_SCHEMA, new or _NO_SCHEMA, "", _Place.RESOURCE, changes)
    return changes


def _compare(old: Props, new: Props, path: str, place: _Place, changes: list[UngradedChange], *, is_required: bool = False) -> None:
    if old is new:
        return
    if not are_comparable(old, new):
        changes += (change._replace(path=path) for change in type_changes(old, new))
        return
    for rule in _rules_of_changed_keywords(old, new):
        for change in rule(old, new):
            name = change.rule
            if is_required and name == "defaultAdded":
                name = "requiredDefaultAdded"
            elif place is _Place.METADATA:
                name = _IN_METADATA.get(name, name)
            changes.append(change._replace(rule=name, path=_join(path, change.path)))
    if place is _Place.FIELD and (old.get(_EMBEDDED) is True or new.get(_EMBEDDED) is True):
        place = _Place.RESOURCE
    _compare_properties(old, new, path, place, changes)
    items = [props.get("items") for props in (old, new)]
    if any(isinstance(item, Mapping) for item in items):
        before, after = (item if isinstance(item, Mapping) else _ANYTHING for item in items)
        _compare(before, after, f"{path}[]", _Place.FIELD, changes)
    value, other_value = map_values(old), map_values(new)
    if value is not None and other_value is not None:
        _compare(value, other_value, f"{path}[*]", _Place.FIELD, changes)


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


def _compare_properties(old: Props, new: Props, path: str, place: _Place, changes: list[UngradedChange]) -> None:
    before: Mapping[str, Any] = old.get("properties") or _NO_SCHEMA
    after: Mapping[str, Any] = new.get("properties") or _NO_SCHEMA
    required = set(old.get("required") or ()).intersection(new.get("required") or ())
    for name, schema in before.items():
        former: Props = schema or _NO_SCHEMA
        below = _place_of(name, place)
        if name in after:
            _compare(former, after[name] or _NO_SCHEMA, _join(path, name), below, changes, is_required=name in required)
        elif _is_implied(name, place):
            _compare(former, _implied(former), _join(path, name), below, changes)
        else:
            dropped = other_fields(new) is OtherFields.DROPPED
            message = f"the field{_described(former)} was removed"
            if not dropped:
                message += f" from the schema, and is {other_fields(new).value}"
            changes.append(UngradedChange("fieldRemoved" if dropped else "fieldUnspecified", message, _join(path, name)))
    for name, schema in after.items():
        if name in before:
            continue
        added: Props = schema or _NO_SCHEMA
        if _is_implied(name, place):
            _compare(_implied(added), added, _join(path, name), _place_of(name, place), changes)
        else:
            dropped = other_fields(old) is OtherFields.DROPPED
            message = f"the field{_described(added)} was added"
            if not dropped:
                message += f" to the schema, and was {other_fields(old).value}"
            changes.append(UngradedChange("fieldAdded" if dropped else "fieldSpecified", message, _join(path, name)))


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
