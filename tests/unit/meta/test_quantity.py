"""Quantities are read, added and written as the reference does."""

import pytest

from apiext.meta.quantity import parse


@pytest.mark.parametrize(
    "text, canonical",
    [
        *((text, text) for text in ("0", "1", "10", "999", "1500", "1k", "1M", "1Ki", "1E", "1e3", "9223372036854775807")),
        *((text, text) for text in ("1E3", "10e0", "+7", "007", "1.", "1023Ki", "-5")),
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
def test_canonical(text: str, canonical: str) -> None:
    """What is written well stays as it is, the rest becomes canonical."""
    assert str(parse(text)) == canonical


@pytest.mark.parametrize(
    "one, other, total",
    [("0", "1", "1"), ("999", "1", "1k"), ("1k", "1", "1001"), ("1023Ki", "1Ki", "1Mi"), ("1e3", "1", "1001"), ("0", "1e3", "1e3")],
)
def test_sums(one: str, other: str, total: str) -> None:
    """A sum is written as the first one is."""
    assert str(parse(one) + parse(other)) == total


def test_order() -> None:
    """Amounts compare, however they are written and however large they are."""
    assert parse("1Ki").amount > parse("1k").amount
    assert parse("1000") == parse("1k")
    assert parse("1e99999999").amount > parse("1E").amount


@pytest.mark.parametrize("text", ["", "x", "1x", "1 k", "1..2", ".", "1ki", "1e", "--1", "1e9999999999"])
def test_nonsense(text: str) -> None:
    """What is no quantity is refused."""
    with pytest.raises(ValueError, match="quantity"):
        parse(text)
