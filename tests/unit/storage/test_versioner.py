"""resourceVersions are read and refused as the reference does."""

import pytest

from apiext.meta.errors import StatusError
from apiext.storage import versioner


@pytest.mark.parametrize("text,revision", [("", 0), ("0", 0), ("7", 7), ("007", 7), ("0" * 5000 + "1", 1), (str(2**64 - 1), 2**64 - 1)])
def test_numbers(text: str, revision: int) -> None:
    """Any number up to uint64 is a revision."""
    assert versioner.parse(text) == revision


@pytest.mark.parametrize(
    "text,why",
    [
        ("x", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("+1", "invalid syntax"),
        (" 1", "invalid syntax"),
        ("1_0", "invalid syntax"),
        ("\N{ARABIC-INDIC DIGIT ONE}", "invalid syntax"),
        (str(2**64), "value out of range"),
        ("9" * 5000, "value out of range"),
    ],
)
def test_other_texts(text: str, why: str) -> None:
    """Anything else is a bad request that quotes the text; a watch, and a read from the cache, answer it with an error of no kind."""
    with pytest.raises(StatusError) as caught:
        versioner.parse(text)

    expected = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}'
    assert (caught.value.code, caught.value.message) == (400, f"invalid resource version: {expected}")

    with pytest.raises(StatusError) as caught:
        versioner.parse_plainly(text)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (500, "", expected)


def test_require() -> None:
    """What is older than asked for is a timeout that tells both revisions."""
    versioner.require(5, 5)
    with pytest.raises(StatusError, match=r"^Timeout: Too large resource version: 6, current: 5$"):
        versioner.require(6, 5)
