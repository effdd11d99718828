"""Quantities."""

import pytest

from apiext.base.meta.quantity import parse


@pytest.mark.parametrize(
    "text, canonical",
    [
        *((text, text) for text in ("0", "1", "10", "999", "1500", "1k", "1M", "1Ki", "1E", "1e3", "9223372036854775807")),
        *((text, text) for text in ("1023Ki", "-5")),
        *(("1E3", "1e3"), ("10e0", "10"), ("+7", "7"), ("007", "7"), ("1.", "1")),
        ("1000", "1k"),
        ("2000k", "2M"),
        ("1000m", "1"),
        ("1.5k", "1500"),
        ("0.5k", "500"),
        (".5k", "500"),
        ("5.0", "5"),
        ("0Ki", "0"),
        ("0e3", "0"),
        ("1024Ki", "1Mi"),
        ("1000Ki", "1000Ki"),
        ("1.5Ki", "1536"),
        ("0.5Ki", "512"),
        ("100Ei", "9223372036854775807"),
        ("0.1Ki", "102400m"),
        ("12e4", "120e3"),
        ("100e-2", "1"),
        ("0.0000000001", "1n"),
        ("-1.5", "-1500m"),
    ],
)
def test_prints_the_canonical_form(text: str, canonical: str) -> None:
    """Keep canonical texts and convert the others."""
    assert str(parse(text)) == canonical


@pytest.mark.parametrize(
    "one, other, total",
    [("0", "1", "1"), ("999", "1", "1k"), ("1k", "1", "1001"), ("1023Ki", "1Ki", "1Mi"), ("1e3", "1", "1001"), ("0", "1e3", "1e3")],
)
def test_adds_quantities(one: str, other: str, total: str) -> None:
    """Print a sum in the format of its first term."""
    assert str(parse(one) + parse(other)) == total


def test_compares_amounts() -> None:
    """Compare amounts of any format and size."""
    assert parse("1Ki").amount > parse("1k").amount
    assert parse("1000") == parse("1k")
    assert parse("1e99999999").amount > parse("1E").amount


@pytest.mark.parametrize("text", ["", "x", "1x", "1 k", "1..2", "1.2.3", "1ki", "1e", "--1", "Ki", ".", ".e-30", "1e99999999999"])
def test_rejects_other_texts(text: str) -> None:
    """Raise ValueError for a text that is no quantity."""
    with pytest.raises(ValueError, match="quantit"):
        parse(text)
