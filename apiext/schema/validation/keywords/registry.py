"""The functions of the keywords, and which of them apply to a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apiext.schema.keywords import KEYWORDS
from apiext.schema.validation.keywords.arrays import ARRAYS
from apiext.schema.validation.keywords.clauses import CLAUSES
from apiext.schema.validation.keywords.constraint import Functions, KeywordFunction, NoneType
from apiext.schema.validation.keywords.numbers import NUMBERS
from apiext.schema.validation.keywords.objects import OBJECTS
from apiext.schema.validation.keywords.strings import STRINGS
from apiext.schema.validation.keywords.values import ENUM, FORMAT, TYPE

FUNCTIONS: Final[Functions] = TYPE | CLAUSES | STRINGS | FORMAT | NUMBERS | ARRAYS | ENUM | OBJECTS
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
"""The functions that apply to values of a Python type, in the same order. What the row of a keyword checks decides."""
