"""The texts of Warning headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.api.endpoints.responsewriters.warning_headers import shortened, warning_headers


@pytest.mark.parametrize(
    "texts, headers",
    [
        (["b", "a", "b", ""], ["b", "a"]),
        (['"\\'], ['\\"\\\\']),
        (["a\nb", "c\x80", "d"], ["d"]),
        (["a" * 4096], ["a" * 4096]),
        (["a" * 4097], ["a" * 256]),
        (["a" * 4000, "b" * 97, "c"], ["a" * 256, "b" * 97, "c"]),
        ([f"{number:300}" for number in range(40)], [f"{number:300}"[:256] for number in range(16)]),
        (["\n" * 5000, "a" * 4096], ["a" * 4096]),
    ],
)
def test_headers(texts: list[str], headers: list[str]) -> None:
    """Drop what repeats or cannot be sent, and truncate if the texts are long in total."""
    assert warning_headers(texts) == [f'299 - "{text}"' for text in headers]


@given(
    st.lists(st.builds(str.__mul__, st.sampled_from(["a", "b", "ab", "\n", ""]), st.sampled_from([0, 1, 255, 256, 257, 4095, 4096, 5000])))
)
def test_shortened_texts_have_the_same_headers(texts: list[str]) -> None:
    """Keep the headers, and bound what is kept."""
    kept = shortened(texts)

    assert warning_headers(kept) == warning_headers(texts)
    assert sum(map(len, kept)) <= 18 * 4097
