"""Rules of the keywords that decide which fields of an object the server keeps: unknown ones, and values of maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from apiext.resources.comparison.change import UngradedChange
from apiext.resources.comparison.type_keywords import type_of
from apiext.resources.comparison.value_keywords import KeywordRule
from apiext.schema.model import Props

_NO_SCHEMA: Final[Props] = {}
_WITH_FIELDS: Final = frozenset({"", "object"})
"""Types of values that may have fields."""


class OtherFields(Enum):
    """What the server does with fields that properties do not name."""

    DROPPED = "dropped"
    MAP_VALUES = "kept as values of a map"
    UNKNOWN = "kept unchecked"


def other_fields(props: Props) -> OtherFields:
    """Return what the server does with fields that properties do not name."""
    if map_values(props) is not None:
        return OtherFields.MAP_VALUES
    return OtherFields.UNKNOWN if props.get("x-kubernetes-preserve-unknown-fields") is True else OtherFields.DROPPED


def map_values(props: Props) -> Props | None:
    """Return the schema of the values of a map, None if it is none."""
    additional: Any = props.get("additionalProperties")
    if isinstance(additional, Mapping):
        return additional
    return _NO_SCHEMA if additional is True else None


def other_fields_changes(old: Props, new: Props) -> Iterator[UngradedChange]:
    """Yield the change of what the server does with fields that properties do not name, if any."""
    before, after = other_fields(old), other_fields(new)
    if before is not after and _WITH_FIELDS & {type_of(old), type_of(new)}:
        yield UngradedChange(_NAMES[before, after], f"fields that properties do not name were {before.value}, and are {after.value}")


_DROPPED, _MAP, _UNKNOWN = OtherFields.DROPPED, OtherFields.MAP_VALUES, OtherFields.UNKNOWN
_NAMES: Final = {
    (_DROPPED, _MAP): "mapValuesAdded",
    (_DROPPED, _UNKNOWN): "unknownFieldsPreserved",
    (_MAP, _DROPPED): "mapValuesRemoved",
    (_MAP, _UNKNOWN): "unknownFieldsUnspecified",
    (_UNKNOWN, _DROPPED): "unknownFieldsPruned",
    (_UNKNOWN, _MAP): "unknownFieldsSpecified",
}
FIELD_RULES: Final[Mapping[str, KeywordRule]] = MappingProxyType(
    dict.fromkeys(("additionalProperties", "x-kubernetes-preserve-unknown-fields"), other_fields_changes)
)
"""The rule of each keyword about fields that properties do not name."""
