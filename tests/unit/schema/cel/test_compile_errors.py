"""Errors of expressions in the words of cel-go."""

import pytest

from apiext.schema.cel.syntax.source import CompileError
from tests.support.cel import checked


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
        ("l.sortBy(1, 2)", 10, "argument is not an identifier"),
        ("quantity('1').x", 14, "unexpected failed resolution of 'kubernetes.Quantity'"),
        ("ip('::1').x", 10, "type 'net.IP' does not support field selection"),
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


@pytest.mark.parametrize(
    "source, place, message",
    [
        ("1 +", 4, "unexpected end of the expression, expected an expression"),
        ("", 1, "unexpected end of the expression, expected an expression"),
        ("n n", 3, "unexpected 'n', expected the end of the expression"),
        ("n 'a'", 3, "unexpected 'a', expected the end of the expression"),
        ("n " + "x" * 50, 3, f"unexpected '{'x' * 40}...', expected the end of the expression"),
        ("((n)", 5, "unexpected end of the expression, expected ')'"),
        ("n ? 1", 6, "unexpected end of the expression, expected ':'"),
        ("n.true", 3, "unexpected 'true', expected a field name"),
        (".true", 2, "unexpected 'true', expected a name"),
        ("!-n", 3, "unexpected 'n', expected a number"),
        ("f(n n)", 5, "unexpected 'n', expected ',' or ')'"),
        ("l[0 1]", 5, "unexpected '1', expected ']'"),
        ("[1 2]", 4, "unexpected '2', expected ',' or ']'"),
        ("[1,,2]", 4, "unexpected ',', expected an expression"),
        ("[,1]", 3, "unexpected '1', expected ']'"),
        ("{1, 2}", 3, "unexpected ',', expected ':'"),
        ("{1: 2 3}", 7, "unexpected '3', expected ',' or '}'"),
        ("{1: 2,,}", 7, "unexpected ',', expected an expression"),
        ("A{b 2}", 5, "unexpected '2', expected ':'"),
        ("A{1: 2}", 3, "unexpected '1', expected a field name"),
        ("A{b: 2", 7, "unexpected end of the expression, expected ',' or '}'"),
        ("n = 1", 3, "unexpected character '='"),
        ("n == 'a", 6, "string literal is not closed or has an invalid escape sequence"),
        (r"'\q' == n", 1, "string literal is not closed or has an invalid escape sequence"),
        ("m.`a", 3, "escaped field name is not closed or has an invalid character"),
    ],
)
def test_syntax_errors(source: str, place: int, message: str) -> None:
    """A syntax error names its place and what is expected there."""
    frame = f"\n | {source}\n | {'.' * (place - 1)}^" if source else ""

    assert _error(source) == f"ERROR: <input>:1:{place}: Syntax error: {message}{frame}"


def test_the_first_syntax_error_is_the_only_one() -> None:
    """What follows a syntax error is not parsed."""
    assert _error("n n\n@ (").startswith("ERROR: <input>:1:3: Syntax error: unexpected 'n'")
    assert _error("n n\n@ (").count("ERROR") == 1


def test_syntax_errors_at_the_end_of_lines() -> None:
    """A syntax error after a line break belongs to the next line."""
    assert _error("n +\n") == "ERROR: <input>:2:1: Syntax error: unexpected end of the expression, expected an expression\n | \n | ^"


@pytest.mark.parametrize(
    "source, message",
    [
        ("(" * 250 + "1" + ")" * 250, "expression recursion limit exceeded: 250"),
        ("[" * 251 + "]" * 251, "expression recursion limit exceeded: 250"),
        ("+".join(["1"] * 1252), "max recursion depth exceeded"),
        ("l" + ".x" * 1251, "max recursion depth exceeded"),
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
    """Errors of macros before a syntax error are reported, too."""
    assert [line.split(": ", 2)[2] for line in _error("has(n) && l.all(1, true) && m.map(1, 2) n").splitlines() if "ERROR" in line] == [
        "invalid argument to has() macro",
        "argument must be a simple name",
        "argument is not an identifier",
        "Syntax error: unexpected 'n', expected the end of the expression",
    ]


def test_long_expressions() -> None:
    """The length is limited."""
    assert _error("1" * 100_001) == "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
