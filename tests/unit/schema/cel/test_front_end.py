"""From expressions to checked syntax trees: what is accepted, with which types and overloads."""

import pytest

from apiext.schema.cel.ast import Call, Constant, Identifier, Uint
from apiext.schema.cel.syntax.source import CompileError
from tests.support.cel import checked

_VARIABLES = {"n": "int", "s": "string", "l": "list(int)", "m": "map(string, int)", "d": "dyn", "ll": "list(list(string))"}


@pytest.mark.parametrize(
    "source, kind, overloads",
    [
        ("n + 2 * 3 == 7", "bool", ["add_int64", "equals", "multiply_int64"]),
        ("1 < 1.0", "bool", ["less_int64_double"]),
        ("1u >= n", "bool", ["greater_equals_uint64_int64"]),
        ("[1, n]", "list(int)", []),
        ("{'a': [s]}", "map(string, list(string))", []),
        ("ll[0][0]", "string", ["index_list", "index_list"]),
        ("ll.map(x, x.size())", "list(int)", ["add_list", "list_size"]),
        ("l.all(i, i > 0)", "bool", ["greater_int64", "logical_and", "not_strictly_false"]),
        ("m.exists(k, v, v > 0 && k != '')", "bool", None),
        ("m.map(k, m[k])", "list(int)", ["add_list", "index_map"]),
        ("l.filter(x, x in [1])", "list(int)", ["add_list", "conditional", "in_list"]),
        ("has(d.a.b) ? d.a.b : s", "dyn", ["conditional"]),
        ("d + 1", "int", ["add_int64"]),
        ("type(n) == int", "bool", ["equals", "type"]),
        ("[]", "list(dyn)", []),
        ("[] == l", "bool", ["equals"]),
        ("duration('1h') + duration('1m')", "google.protobuf.Duration", ["add_duration_duration"] + ["string_to_duration"] * 2),
        ("'a'.matches('b') || matches(s, 'c')", "bool", ["logical_or", "matches", "matches_string"]),
        ("m.?a", "optional_type(int)", ["select_optional_field"]),
        ("-n", "int", ["negate_int64"]),
        ("!!true", "bool", []),
        ("[1, 2,]", "list(int)", []),
        ("[,]", "list(dyn)", []),
    ],
)
def test_types_and_overloads(source: str, kind: str, overloads: list[str] | None) -> None:
    """The type of an expression and its overloads are those that cel-go finds."""
    ast = checked(source, _VARIABLES)

    if overloads is not None:
        assert sorted(overload for overloads in ast.overloads.values() for overload in overloads) == overloads
    assert str(ast.types[ast.expression.id]) == kind


@pytest.mark.parametrize(
    "source, value",
    [
        ("-9223372036854775808", -(2**63)),
        ("0x1F", 31),
        ("18446744073709551615u", Uint(2**64 - 1)),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("'a\\x41\\u00e9\\101\\n'", "aAéA\n"),
        ("r'\\n'", "\\n"),
        ('r"\\"', "\\"),
        ("'''a\r\n'b'''", "a\n'b"),
        ("b'\\xff\\101é'", b"\xffA\xc3\xa9"),
        ("null", None),
        ("false", False),
    ],
)
def test_literals(source: str, value: object) -> None:
    """Literals have the values and types that cel-go gives them."""
    expression = checked(source).expression

    assert isinstance(expression, Constant)
    assert (type(expression.value), expression.value) == (type(value), value)


def test_chains_of_logical_operators_are_balanced() -> None:
    """A chain of operators becomes a tree whose depth is the logarithm of its length."""
    expression = checked(" || ".join(["true"] * 8)).expression

    depth = 0
    while isinstance(expression, Call):
        depth += 1
        expression = expression.arguments[0]
    assert depth == 3


@pytest.mark.parametrize(
    "source",
    [
        "(" * 249 + "1" + ")" * 249,
        "+".join(["1"] * 251),
        "[" * 250 + "]" * 250,
        "l" + ".map(x, [x])" * 250,
        "l.all(x, " * 249 + "true" + ")" * 249,
        "!" * 20_000 + "true",
        " || ".join(["l.all(x, x > 0)"] * 5000),
    ],
)
def test_deep_and_long_expressions(source: str) -> None:
    """Whatever cel-go's limits admit is compiled, without exhausting the stack."""
    assert checked(source, _VARIABLES).expression is not None


def test_variables_of_macros_hide_variables() -> None:
    """A leading dot reaches the variable that a macro's variable hides."""
    ast = checked("l.all(s, s > 0 && .s == 'a')", _VARIABLES)

    assert {".s", "s"} <= set(ast.names.values())


def test_namespaced_functions_become_plain_calls() -> None:
    """The receiver of a namespaced function is a part of its name."""
    with pytest.raises(CompileError, match="undeclared reference to 'sums'"):
        checked("sums.of(1)")


def test_identifiers_are_recorded() -> None:
    """Every reference to a variable is in `names`."""
    ast = checked("n == 1 && l.exists(x, x == n)", _VARIABLES)

    assert sorted(ast.names.values()) == ["@result", "@result", "@result", "l", "n", "n", "x"]
    assert isinstance(ast.expression, Call)
    assert ast.expression.target is None
    assert not isinstance(ast.expression.arguments[0], Identifier)
