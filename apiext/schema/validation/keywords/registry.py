"""The functions of the keywords, and which of them apply to a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from apiext.schema.keywords import KEYWORDS
from apiext.schema.validation.keywords.arrays import items, max_items, min_items, unique_items
from apiext.schema.validation.keywords.clauses import all_of, any_of, not_, one_of
from apiext.schema.validation.keywords.constraint import Constraint, NoneType
from apiext.schema.validation.keywords.numbers import maximum, minimum, multiple_of
from apiext.schema.validation.keywords.objects import max_properties, members, min_properties
from apiext.schema.validation.keywords.strings import max_length, min_length, pattern
from apiext.schema.validation.keywords.values import enum, format_, type_

if TYPE_CHECKING:
    from apiext.schema.validation.spec import Spec

KeywordFunction = Callable[["Spec", type], Constraint | None]
"""Returns what a keyword of a node requires of values of a Python type, None if nothing."""

FUNCTIONS: Final[Mapping[str, KeywordFunction]] = MappingProxyType(
    {
        **dict.fromkeys(("type", "nullable", "x-kubernetes-int-or-string"), type_),
        "anyOf": any_of,
        "oneOf": one_of,
        "allOf": all_of,
        "not": not_,
        "maxLength": max_length,
        "minLength": min_length,
        "pattern": pattern,
        "format": format_,
        "multipleOf": multiple_of,
        **dict.fromkeys(("minimum", "exclusiveMinimum"), minimum),
        **dict.fromkeys(("maximum", "exclusiveMaximum"), maximum),
        "items": items,
        "minItems": min_items,
        "maxItems": max_items,
        "uniqueItems": unique_items,
        "enum": enum,
        "minProperties": min_properties,
        "maxProperties": max_properties,
        **dict.fromkeys(("additionalProperties", "properties", "required"), members),
    }
)
"""The function of each keyword that value validation checks, in the order of the reference's violations."""

KINDS: Final = (NoneType, bool, str, int, float, list, dict)
"""The Python types of JSON values."""
_KINDS_OF: Final[Mapping[str, tuple[type, ...]]] = {
    "any": KINDS, "array": (list,), "number": (int, float), "object": (dict,), "string": (str,), "": (),
}  # fmt: skip
_CHECKED: Final = {each.name: _KINDS_OF[each.checks] for each in KEYWORDS}
FUNCTIONS_OF: Final[Mapping[type, tuple[KeywordFunction, ...]]] = {
    kind: tuple(dict.fromkeys(function for name, function in FUNCTIONS.items() if kind in _CHECKED[name])) for kind in KINDS
}
"""The functions that apply to values of a Python type, in the same order; the first is that of the type."""
