"""Tests of the ways to declarations."""

from apiext.schema.cel.cost.operand import NO_PATH


def test_some_extensions_share_their_last_step() -> None:
    """Two extensions of a path of three steps share memory, as Go's slices do: the second replaces the last step of the first."""
    items = NO_PATH.then("self").then("list").then("@items")
    first = items.then("a")
    second = items.then("b")

    assert items.steps == ["self", "list", "@items"]
    assert first.steps == second.steps == ["self", "list", "@items", "b"]


def test_other_extensions_are_independent() -> None:
    """Extensions of a path of one, two, four ... steps have memory of their own, and so has a copy."""
    list_ = NO_PATH.then("self").then("list")
    first, second = list_.then("a"), list_.then("b")
    copied = first.copy().then("x")
    first.then("y")

    assert first.steps == ["self", "list", "a"]
    assert second.steps == ["self", "list", "b"]
    assert copied.steps == ["self", "list", "a", "x"]
