"""Regular expressions as Go reads them, with its errors and in linear time."""

import pytest

from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.schema.pattern import PatternError, check_pattern, compile_pattern


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


def test_caches_few_short_texts() -> None:
    """Return the same result at first and from the cache, which has few texts, none of them long."""
    pattern = compile_pattern("^a+$")
    texts = ["a", "b", "a" * 65, *(f"b{number}" for number in range(1000))]

    assert [pattern.matches(text) for text in texts] == [pattern.matches(text) for text in texts]
    assert pattern.results["b999"] is False
    assert 0 < len(pattern.results) <= 256
    assert max(map(len, pattern.results)) <= 64


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
        ("((a{10}){10}){11}", "invalid repeat count: `{11}`"),
        ("(a{600,}){2}", "invalid repeat count: `{2}`"),
        (r"\pL{1000}", r"expression too large: `\pL{1000}`"),
        ("(?:a{0,1000})" * 11, f"expression too large: `{'(?:a{0,1000})' * 11}`"),
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


@pytest.mark.parametrize("expression", ["a{1000}" * 10, "\\pL{100}", "[" * 10_000, "(a{600,}){2}"])
def test_leaves_costly_expressions_to_workers(expression: str) -> None:
    """Refuse to compile a costly expression on the event loop; when it is stored, a check accepts it."""
    with InlineWork(), pytest.raises(HeavyWorkError):
        check_pattern(expression)
    with InlineWork(trusting=True):
        check_pattern(expression)


def test_leaves_costly_matches_to_workers() -> None:
    """Refuse to match a long text with a large program on the event loop."""
    pattern = compile_pattern("^(a?){500}$")
    with InlineWork():
        assert pattern.matches("a")
        with pytest.raises(HeavyWorkError):
            pattern.matches("a" * 1000)
    assert not pattern.matches("a" * 1000)


def test_trusts_stored_expressions_when_the_time_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report malformed expressions that are stored, unless the time for it is used."""
    with InlineWork(trusting=True), pytest.raises(PatternError):
        check_pattern("(")
    monkeypatch.setattr("apiext.base.scheduling.inline_work.MAX_INLINE_SECONDS", 0)
    with InlineWork(trusting=True):
        check_pattern("(")
    with InlineWork(), pytest.raises(HeavyWorkError):
        check_pattern("a")


@pytest.mark.parametrize(
    "expression, text, matches",
    [
        ("[0-9]+", "123 abc 456", ["123", "456"]),
        ("", "aéb", ["", "", "", ""]),
        ("x*", "axxb", ["", "xx", ""]),
        ("a|", "baac", ["", "a", "a", ""]),
        (r"^a|\bb", "aab b", ["a", "b"]),
        ("(a)(b)", "abab", ["ab", "ab"]),
        ("y", "x", []),
    ],
)
def test_finds_all_matches(expression: str, text: str, matches: list[str]) -> None:
    """Find the matches that Go finds: none is empty where the one before it ends."""
    assert list(compile_pattern(expression).find_all(text)) == matches
