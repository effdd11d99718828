"""Expressions of -k."""

import pytest

from apiext.tools.suites.selection_expression import ExpressionError, parse_selection


@pytest.mark.parametrize(
    "text,expected",
    [
        ("create", ["onCreate::a b", "onCreate::c"]),
        ("create and not '::c'", ["onCreate::a b"]),
        ("'a b' or update", ["onCreate::a b", "onUpdate::d"]),
        ("not (create or update)", []),
        ("UPDATE", ["onUpdate::d"]),
        ("not not update", ["onUpdate::d"]),
    ],
)
def test_selection(text: str, expected: list[str]) -> None:
    """Words match parts of names without regard to case; `and` binds more than `or`."""
    selection = parse_selection(text)

    assert [name for name in ("onCreate::a b", "onCreate::c", "onUpdate::d") if selection(name)] == expected


@pytest.mark.parametrize("text", ["and", "a or", "(a", "a b", "a)", "not", "'a"])
def test_invalid_expressions(text: str) -> None:
    """What is no expression is refused."""
    with pytest.raises(ExpressionError):
        parse_selection(text)
