"""Tests of path elements."""

from apiext.resources.managedfields import element


def test_long_elements() -> None:
    """Treat elements that are too long for the caches as all others."""
    long = "x" * 5000

    assert element.canonical(f'v:"{long}"') == f'v:"{long}"'
    assert element.order(f'v:"{long}"') == (2, (1, long))
