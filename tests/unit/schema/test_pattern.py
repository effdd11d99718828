"""Regular expressions as Go reads them, with its errors and in linear time."""

import pytest

from apiext.schema.pattern import PatternError, compile_pattern


@pytest.mark.parametrize(
    "expression, text, expected",
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^abc$", "abc\n", False),
        (r"^\d$", "\u0663", False),
        (r"^\pL+$", "\u00e9t\u00e9", True),
        ("", "anything", True),
        (r"(?i)^ABC\z", "abc", True),
    ],
)
def test_matches_like_go(expression: str, text: str, expected: bool) -> None:  # noqa: FBT001
    """Match anywhere; $ is the end of the text, and digits are ASCII."""
    assert expected == compile_pattern(expression).matches(text)


@pytest.mark.parametrize(
    "expression, message",
    [
        ("(", "missing closing ): `(`"),
        ("[", "missing closing ]: `[`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        ("x{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        (")", "unexpected ): `)`"),
    ],
)
def test_rejects_malformed_expressions(expression: str, message: str) -> None:
    """Raise Go's message for a malformed expression."""
    with pytest.raises(PatternError) as raised:
        compile_pattern(expression)

    assert f"error parsing regexp: {message}" == str(raised.value)


@pytest.mark.parametrize("expression", ["((((((a{100}){100}){100}){100}){100}){100})", "(" * 5000 + ")" * 5000])
def test_rejects_large_expressions(expression: str) -> None:
    """Reject an expression that would take too much memory."""
    with pytest.raises(PatternError):
        compile_pattern(expression)


def test_takes_linear_time() -> None:
    """Match at once what would make a backtracking matcher run for years."""
    assert not compile_pattern("^(a|aa)+$").matches("a" * 20_000 + "b")
