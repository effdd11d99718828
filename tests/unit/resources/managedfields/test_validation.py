"""Checks of values against merge types."""

import pytest

from apiext.base.meta.golang.foreign_values import NullNumber, OpaqueList, OpaqueMap
from apiext.resources.managedfields.merge_types import DEDUCED
from apiext.resources.managedfields.validation import InvalidValueError, check


def test_foreign_values_fit_no_type() -> None:
    """Refuse values that are no JSON where a schema takes anything, with the reference's words."""
    value = {"a": [1, NullNumber(0)], "b": OpaqueMap({"y": "x"}), "c": {"d": OpaqueList([1])}, "e": None}

    check(DEDUCED, value)
    with pytest.raises(InvalidValueError) as raised:
        check(DEDUCED, value, foreign=True)

    assert str(raised.value).splitlines()[1:] == [
        "  .a[1]: expected map, got &{NULL_VALUE}",
        "  .b: expected map, got &{map[y:x]}",
        "  .c.d: expected map, got &{[1]}",
    ]
