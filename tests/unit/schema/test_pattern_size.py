"""The estimated size of regular expressions, compared with the programs that RE2 makes."""

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.limits import MAX_INLINE_PATTERN_SIZE
from apiext.schema.pattern import size_bound

_OPERANDS = st.sampled_from(
    [
        *("a", "k", "\u00e9", "\u9fff", ".", "^", r"\b", r"\d", r"\W", r"\pL", r"\p{Greek}", r"\PN", r"\*", r"\x{1F600}", r"\Qab*\u00e9\E"),
        *("[a-z]", "[^a-z]", "[a-z\u00e9]", "[\u00e9-\u9fff]", r"[\W]", r"[^\pL]", "[[:^alpha:]]", "[]a]", r"[\d.]", "[ a c e]"),
    ]
)
_REPETITIONS = st.sampled_from(["*", "+", "?", "{0}", "{3}", "{2,}", "{0,5}", "{4,9}"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map(lambda both: f"({both[0]}|{both[1]})"),
        st.tuples(inner, _REPETITIONS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


@given(st.sampled_from(["", "(?i)", "(?s)"]), st.recursive(_OPERANDS, _larger, max_leaves=12))
def test_is_an_upper_bound(flags: str, expression: str) -> None:
    """Never be less than the size of the program."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    try:
        compiled = re2.compile((flags + expression).encode(), options)
    except re2.error:
        return
    assert compiled.programsize <= size_bound(flags + expression)


@pytest.mark.parametrize(
    "expression",
    [
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "^[a-f0-9]{64}$",
        "^.{1,128}$",
        "^\\pL[\\pL\\d]?$",
        "^([01]?[0-9][0-9]?|2[0-4][0-9]|25[0-5])(\\.([01]?[0-9][0-9]?|2[0-4][0-9]|25[0-5])){3}$",
    ],
)
def test_common_expressions_are_small(expression: str) -> None:
    """Estimate common expressions so that the event loop compiles them."""
    assert size_bound(expression) <= MAX_INLINE_PATTERN_SIZE


@pytest.mark.parametrize("expression", ["a{1000}" * 4, "((a{10}){10}){10}", "a{0,1000}" * 2, "\\pL" * 3, "[^\\pL]{3}", "(?i)" + "k" * 1000])
def test_costly_expressions_are_large(expression: str) -> None:
    """Estimate expressions that take milliseconds to compile so that the event loop does not."""
    assert size_bound(expression) > MAX_INLINE_PATTERN_SIZE


@pytest.mark.parametrize("expression", ["", "(", ")", "[", "[^", "{1}", "a{", "a{,2}", "\\", "\\p", "\\p{", "\\Q", "[[:", "[\\", "*"])
def test_accepts_malformed_expressions(expression: str) -> None:
    """Estimate any text."""
    assert size_bound(expression) <= MAX_INLINE_PATTERN_SIZE
