"""Values of any type have the reference's form in YAML."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apiext.openapi.block_yaml import dumps

# As gnostic-models' compiler.Marshal writes them.
CASES = [
    ("", '""\n'),
    ("a", "a\n"),
    ("red blue", "red blue\n"),
    (" lead", "' lead'\n"),
    ("trail ", "'trail '\n"),
    ("true", '"true"\n'),
    ("True", '"True"\n'),
    ("yes", "yes\n"),
    ("no", "no\n"),
    ("y", "y\n"),
    ("on", "on\n"),
    ("null", '"null"\n'),
    ("~", '"~"\n'),
    ("1", '"1"\n'),
    ("0x1f", '"0x1f"\n'),
    ("0o17", '"0o17"\n'),
    ("017", '"017"\n'),
    ("1_000", '"1_000"\n'),
    ("1.5", '"1.5"\n'),
    (".5", '".5"\n'),
    ("1e3", '"1e3"\n'),
    (".inf", '".inf"\n'),
    ("-.Inf", '"-.Inf"\n'),
    (".nan", '".nan"\n'),
    ("<<", "<<\n"),
    ("2001-01-01", '"2001-01-01"\n'),
    ("2001-1-1", '"2001-1-1"\n'),
    ("2001-01-01T00:00:00Z", '"2001-01-01T00:00:00Z"\n'),
    ("2001-01-01 10:00:00", '"2001-01-01 10:00:00"\n'),
    ("12:30:45", "12:30:45\n"),
    ("1:20", "1:20\n"),
    ("a: b", "'a: b'\n"),
    ("a:b", "a:b\n"),
    ("a:", "'a:'\n"),
    (": a", "': a'\n"),
    (":a", ":a\n"),
    ("a #b", "'a #b'\n"),
    ("a#b", "a#b\n"),
    ("#a", "'#a'\n"),
    ("-", "'-'\n"),
    ("- a", "'- a'\n"),
    ("-a", "-a\n"),
    ("--- a", "'--- a'\n"),
    ("---", "'---'\n"),
    ("...", "'...'\n"),
    ("?", "'?'\n"),
    ("? a", "'? a'\n"),
    ("?a", "?a\n"),
    ("[a", "'[a'\n"),
    ("a[b]", "a[b]\n"),
    ("{a}", "'{a}'\n"),
    ("a}", "a}\n"),
    (",a", "',a'\n"),
    ("a,b", "a,b\n"),
    ("&a", "'&a'\n"),
    ("*a", "'*a'\n"),
    ("!a", "'!a'\n"),
    ("|a", "'|a'\n"),
    (">a", "'>a'\n"),
    ("'a", "'''a'\n"),
    ("it's", "it's\n"),
    ("it's: x", "'it''s: x'\n"),
    ('"a', "'\"a'\n"),
    ('a"b', 'a"b\n'),
    ("%a", "'%a'\n"),
    ("@a", "'@a'\n"),
    ("`a", "'`a'\n"),
    ("a\nb", "|-\n    a\n    b\n"),
    ("a\nb\n", "|\n    a\n    b\n"),
    ("a\n\nb\n\n", "|+\n    a\n\n    b\n\n"),
    (" a\nb", "|4-\n     a\n    b\n"),
    ("a \nb", '"a \\nb"\n'),
    ("\n", "|4+\n\n"),
    ("\na", "|4-\n\n    a\n"),
    ("tab\there", '"tab\\there"\n'),
    ("\ttab", '"\\ttab"\n'),
    ("é", "é\n"),
    ("日本", "日本\n"),
    ("\x01", '"\\x01"\n'),
    ("\x85", '"\\N"\n'),
    ("😀", '"\\U0001F600"\n'),
    ("a\\b", "a\\b\n"),
    ("=", "=\n"),
    ("0b1", '"0b1"\n'),
    ("+1", '"+1"\n'),
    ("-1", '"-1"\n'),
    ("1__0", '"1__0"\n'),
    ("0_1", '"0_1"\n'),
    ("1,000", "1,000\n"),
    ("0.", '"0."\n'),
    ("infinity", "infinity\n"),
    ("NaN", "NaN\n"),
    ("1e", "1e\n"),
    ("e3", "e3\n"),
    ("9999999999999999999999", '"9999999999999999999999"\n'),
    ("0x", "0x\n"),
    ("1.2.3", "1.2.3\n"),
    ("a\rb", '"a\\rb"\n'),
    (
        "very long text that goes on and on and on and on and on and on and on and on and on and on and on and on and on end",
        "very long text that goes on and on and on and on and on and on and on and on and on and on and on and on and on end\n",
    ),
    (1, "1\n"),
    (1.5, "1.5\n"),
    (-3, "-3\n"),
    (10000000, "10000000\n"),
    (True, "true\n"),
    (False, "false\n"),
    (None, "null\n"),
    ([], "[]\n"),
    ({}, "{}\n"),
    ([1, [2, [3]], {"a": 1}], "- 1\n- - 2\n  - - 3\n- a: 1\n"),
    ({"a": {"b": {"c": [1, {"d": []}, {"e": {}}]}}}, "a:\n    b:\n        c:\n            - 1\n            - d: []\n            - e: {}\n"),
    (
        [{"fieldPath": "spec.color"}, {"fieldPath": "b", "x": {"y": [1, 2]}}],
        "- fieldPath: spec.color\n- fieldPath: b\n  x:\n    y:\n        - 1\n        - 2\n",
    ),
    ([[], {}], "- []\n- {}\n"),
    ([[{"a": 1, "b": {"c": [2]}}]], "- - a: 1\n    b:\n        c:\n            - 2\n"),
    (
        {"a": "x\ny", "b": ["p\nq\n"], "c": [["u\n v"]]},
        "a: |-\n    x\n    y\nb:\n    - |\n      p\n      q\nc:\n    - - |-\n        u\n         v\n",
    ),
    ([{"a": ["x", {"b": "c"}]}], "- a:\n    - x\n    - b: c\n"),
    ("x\n  y\n", "|\n    x\n      y\n"),
    ("  x\n", "|4\n      x\n"),
    ("a\n ", '"a\\n "\n'),
    ("a\n\n ", '"a\\n\\n "\n'),
    ("\n\n", "|4+\n\n\n"),
    (" \n", '" \\n"\n'),
    ("line1\nline2 # c", "|-\n    line1\n    line2 # c\n"),
    ("é\nx", "|-\n    é\n    x\n"),
    ("a\x01\nb", '"a\\x01\\nb"\n'),
]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc:#- 1", max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("value,text", CASES)
def test_as_the_reference_writes_it(value: Any, text: str) -> None:
    """Each value has the reference's text."""
    assert dumps(value) == text


@given(VALUES)
def test_read_again(value: Any) -> None:
    """A reader of YAML gets the same value back; what YAML 1.1 and 1.2 read differently is left to the table."""
    text = dumps(value)

    assert json.dumps(yaml.load(text, Loader=yaml.BaseLoader)) == json.dumps(_texts(value))  # noqa: S506 -- texts only


def _texts(value: Any) -> Any:
    """The value as a loader sees it that does not tell types apart."""
    if isinstance(value, dict):
        return {key: _texts(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_texts(member) for member in value]
    return value if isinstance(value, str) else json.dumps(value)
