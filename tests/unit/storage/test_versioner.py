"""resourceVersions parsed as in the reference."""

import pytest

from apiext.base.meta.errors import StatusError
from apiext.storage import versioner


@pytest.mark.parametrize("text,revision", [("", 0), ("0", 0), ("7", 7), ("007", 7), ("0" * 5000 + "1", 1), (str(2**64 - 1), 2**64 - 1)])
def test_parses_numbers(text: str, revision: int) -> None:
    """Accept any number up to uint64."""
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
def test_rejects_other_texts(text: str, why: str) -> None:
    """Answer 400 with the quoted text for anything else, and 500 for watches and cached gets."""
    with pytest.raises(StatusError) as caught:
        versioner.parse(text)

    expected = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}'
    assert (caught.value.code, caught.value.message) == (400, f"invalid resource version: {expected}")

    with pytest.raises(StatusError) as caught:
        versioner.parse_for_watch(text)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (500, "", expected)
