"""Tests of upper bounds of run-time costs."""

from typing import Any, Final

import pytest

from apiext.schema.cel.cost.estimate import MAX_UINT64
from apiext.schema.cel.cost.worst_case import worst_case
from tests.unit.schema.cel.cost.costed import costed

KEY: Final = 3 * 1024 * 1024
TEXT: Final = {"type": "string", "maxLength": 5}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "i": {"type": "integer"},
        "s": TEXT,
        "empty": {"type": "string", "maxLength": 0, "nullable": True},
        "any": {"x-kubernetes-int-or-string": True},
        "o": {"type": "object", "properties": {"a": TEXT}},
        "l": {"type": "array", "maxItems": 3, "items": TEXT},
        "m": {"type": "object", "maxProperties": 2, "additionalProperties": TEXT},
        "ll": {"type": "array", "maxItems": 2, "items": {"type": "array", "maxItems": 2, "items": TEXT}},
    },
}


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("self.i == 1", 4),
        ("self.s == 'a'", 4),
        ("self.empty == self.empty", 6),
        ("self.o == oldSelf.o", 5 + (KEY // 6 + 9) // 10),
        ("self.any.a.b == 1", 6),
        ("'a' in self.m", 4),
        ("self.l.all(x, x == 'a')", 2 + 3 * (3 + 5) + 1),
        ("self.s.split('a') == []", MAX_UINT64),
        ("self.ll.flatten() == []", MAX_UINT64),
    ],
)
def test_worst_cases(expression: str, expected: int) -> None:
    """Values have their true sizes, a call counts one unit more than estimated, and one that may count still more has no bound."""
    assert worst_case(*costed(expression, SCHEMA)) == expected


def test_keys_have_no_limit() -> None:
    """A key of a map may be as long as a request."""
    assert worst_case(*costed("self.m.all(k, k == self.s)", SCHEMA)) < KEY // 10
    assert worst_case(*costed("self.m.all(k, k + 'a' == self.s)", SCHEMA)) > KEY // 10


def test_items_of_computed_lists_are_not_taken_for_the_object() -> None:
    """The estimate of the reference finds a size for the items of a sum, that of the object."""
    checked, declaration = costed("(self.l + self.l).all(x, self.any == x)", SCHEMA)

    assert worst_case(checked, declaration) > KEY // 10
