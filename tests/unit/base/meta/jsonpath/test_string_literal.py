"""Tests of quoted texts in JSONPath; the expectations are answers of client-go's UnquoteExtend."""

import pytest

from apiext.base.meta.jsonpath.paths import PathError, compile_path, unquote
from apiext.base.meta.jsonpath.steps import Meter


@pytest.mark.parametrize(
    "inner,quote,text",
    [
        ("a", '"', "a"),
        ("é\\n", '"', "é\n"),
        ("\\n\\t\\a\\\\", '"', "\n\t\a\\"),
        ("\\'", "'", "'"),
        ('\\"', '"', '"'),
        ("\\x41\\101", '"', "AA"),
        ("\\xff", '"', "\ufffd"),
        ("\\377", '"', "\ufffd"),
        ("\\xc3\\xa9", '"', "é"),
        ("\\u00e9é", '"', "éé"),
        ("\\U0001f600", '"', "\U0001f600"),
        ("\n\\n", '"', "\n\n"),
    ],
)
def test_text(inner: str, quote: str, text: str) -> None:
    """Return the text of a literal."""
    assert unquote(inner, quote) == text


@pytest.mark.parametrize(
    "inner,quote",
    [
        ("\\d", '"'),
        ("\\'", '"'),
        ('\\"', "'"),
        ("\\ud800", '"'),
        ("\\U00110000", '"'),
        ("\\777", '"'),
        ("\\0", '"'),
        ("\\x4", '"'),
        ("\\N{DASH}", '"'),
        ('a\\\\"b', '"'),
        ("\\", '"'),
    ],
)
def test_invalid_syntax(inner: str, quote: str) -> None:
    """Refuse unknown escapes, code points that do not exist, and a quote that is not escaped."""
    with pytest.raises(ValueError, match="invalid syntax"):
        unquote(inner, quote)


def test_path() -> None:
    """Compare with the text of a literal, and name the literal in the error."""
    path = compile_path('.a[?(@.b=="\\u0041")].c')

    assert path({"a": [{"b": "A", "c": 1}, {"b": "B", "c": 2}]}, Meter()) == [1]
    with pytest.raises(PathError, match=r'^unquote string "\\d" error invalid syntax$'):
        compile_path('.a[?(@.b=="\\d")].c')
