"""Values in messages."""

from __future__ import annotations

from apiext.resources.comparison.shown import listed, shown


def test_values_are_json_on_one_line() -> None:
    """Write JSON with sorted keys, without escapes of HTML."""
    assert shown({"b": "<a> & b", "a": [1, None]}) == '{"a":[1,null],"b":"<a> & b"}'
    assert shown("a\nb") == '"a\\nb"'
    assert listed(["a", 1]) == '"a", 1'


def test_long_values_are_shortened() -> None:
    """Shorten to 120 characters."""
    assert shown("a" * 200) == '"' + "a" * 116 + "..."
    assert len(listed(["abc"] * 100)) == 120
