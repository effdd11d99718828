"""Tests of path elements."""

import pytest

from apiext.resources.managedfields import element


@pytest.mark.parametrize(
    "value, expected",
    [
        ("a", 'v:"a"'),
        ('"', 'v:"\\""'),
        ("<", 'v:"\\u003c"'),
        ("\b", 'v:"\\u0008"'),
        ("\\b", 'v:"\\\\b"'),
        (1, "v:1"),
        (1.0, "v:1"),
        (True, "v:true"),
    ],
)
def test_value(value: object, expected: str) -> None:
    """Write the item of a set."""
    assert element.of_value(value) == expected
    assert element.canonical(expected) == expected


def test_keys() -> None:
    """Write the keys of an item, strings and numbers."""
    assert element.of_keys([("name", "x"), ("port", 80)]) == 'k:{"name":"x","port":80}'
    assert element.canonical('k:{"port": 8e1, "name": "x"}') == 'k:{"name":"x","port":80}'


def test_integers_beyond_float64() -> None:
    """Expect the same element for an integer of an object and for what FieldsV1 makes of it."""
    assert element.of_value(2**53 + 1) == element.canonical(f"v:{2**53 + 1}") == f"v:{2**53}"


def test_long_elements() -> None:
    """Treat elements that are too long for the caches as all others."""
    long = "x" * 5000

    assert element.canonical(f'v:"{long}"') == f'v:"{long}"'
    assert element.order(f'v:"{long}"') == (2, (1, long))
