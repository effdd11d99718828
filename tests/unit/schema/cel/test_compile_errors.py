"""Errors of expressions in the words of cel-go."""

from __future__ import annotations

import pytest

from apiext.schema.cel.syntax.source import CompileError
from tests.support.cel import checked

_BEGINNINGS = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"


def _error(source: str) -> str:
    with pytest.raises(CompileError) as error:
        checked(source, {"n": "int", "l": "list(int)", "m": "map(string, int)"})
    return str(error.value)


@pytest.mark.parametrize(
    "source, place, message",
    [
        ("n + 's'", 3, "found no matching overload for '_+_' applied to '(int, string)'"),
        ("foo(1)", 4, "undeclared reference to 'foo' (in container '')"),
        ("x.y.z", 1, "undeclared reference to 'x' (in container '')"),
        ("n.y", 2, "type 'int' does not support field selection"),
        ("[1, 'a']", 5, "expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'x'}", 15, "expected type 'int' but found 'string'"),
        ("n && true", 1, "expected type 'bool' but found 'int'"),
        ("n.all(x, true)", 1, "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"),
        ("l.all(1, true)", 7, "argument must be a simple name"),
        ("l.map(1, true)", 7, "argument is not an identifier"),
        ("l.all(i, i, true)", 10, "duplicate variable name: i"),
        ("l.all(__result__, true)", 7, "iteration variable overwrites accumulator variable"),
        ("has(n)", 5, "invalid argument to has() macro"),
        ("for", 1, "reserved identifier: for"),
        ("99999999999999999999", 1, "invalid int literal"),
        ("1e999", 1, "invalid double literal"),
        ("'\\ud800'", 1, "invalid unicode code point"),
        ("A{b: 1}", 2, "undeclared reference to 'A' (in container '')"),
        ("int{}", 4, "'int' is not a message type"),
        ("l.sortBy(1, 2)", 10, "argument is not an identifier"),
        ("1 +", 4, f"Syntax error: mismatched input '<EOF>' expecting {_BEGINNINGS}"),
        ("quantity('1').x", 14, "unexpected failed resolution of 'kubernetes.Quantity'"),
        ("ip('::1').x", 10, "type 'net.IP' does not support field selection"),
        ("n.true", 3, "Syntax error: mismatched input 'true' expecting IDENTIFIER"),
        ("n n", 3, "Syntax error: extraneous input 'n' expecting <EOF>"),
        ("((n)", 5, "Syntax error: missing ')' at '<EOF>'"),
    ],
)  # fmt: skip
def test_messages(source: str, place: int, message: str) -> None:
    """An error names its place, and shows its line with a mark."""
    assert _error(source) == f"ERROR: <input>:1:{place}: {message}\n | {source}\n | {'.' * (place - 1)}^"


def test_several_errors_are_in_the_order_of_their_places() -> None:
    """Errors of all operands are reported, the leftmost first."""
    places = [line.split(": ")[1] for line in _error("(n + 's') + (a + b)").splitlines() if line.startswith("ERROR")]

    assert places == ["<input>:1:4", "<input>:1:14", "<input>:1:18"]


def test_wide_characters_and_tabs() -> None:
    """Places count characters; the dots below wide characters are wide, and a tab is shown as a blank."""
    assert (
        _error("'é\t' + 1")
        == "ERROR: <input>:1:6: found no matching overload for '_+_' applied to '(string, int)'\n | 'é ' + 1\n | .\uff0e...^"
    )


def test_lines() -> None:
    """Only the line of the error is shown."""
    assert _error("n ==\n 's'") == ("ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, string)'\n | n ==\n | ..^")


def test_unrecognized_characters_are_shown_as_they_are() -> None:
    """A character that begins no token is shown without escapes."""
    assert _error('"\n"').startswith(
        "ERROR: <input>:1:1: Syntax error: token recognition error at: '\"\n'\n | \"\n | ^\nERROR: <input>:2:1:"
    )


@pytest.mark.parametrize(
    "source, message",
    [
        ("(" * 250 + "1" + ")" * 250, "expression recursion limit exceeded: 250"),
        ("[" * 251 + "]" * 251, "expression recursion limit exceeded: 250"),
        ("+".join(["1"] * 252), "max recursion depth exceeded"),
        ("l" + ".x" * 251, "max recursion depth exceeded"),
    ],
)
def test_depth_is_limited(source: str, message: str) -> None:
    """Expressions deeper than cel-go's limits are rejected."""
    assert _error(source) == f"ERROR: <input>:-1:0: {message}"


def test_copies_of_macros_are_limited() -> None:
    """A chain of optMap doubles the tree with each link, which ends at a limit."""
    assert _error("m.?a" + ".optMap(x, x)" * 40) == "ERROR: <input>:-1:0: expression is too large after the expansion of its macros"


def test_errors_are_counted_beyond_a_hundred() -> None:
    """The first hundred errors are shown."""
    assert _error("[" + ", ".join(["1 + 'a'"] * 103) + "]").endswith("3 more errors were truncated")


def test_errors_of_macros_beside_syntax_errors() -> None:
    """Errors of macros keep cel-go's words where the text is no expression elsewhere."""
    assert [line.split(": ", 2)[2] for line in _error("has(n) && l.all(1, true) && m.map(1, 2) n").splitlines() if "ERROR" in line] == [
        "invalid argument to has() macro",
        "argument must be a simple name",
        "argument is not an identifier",
        "Syntax error: extraneous input 'n' expecting <EOF>",
    ]


def test_long_expressions() -> None:
    """The length is limited."""
    assert _error("1" * 100_001) == "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
