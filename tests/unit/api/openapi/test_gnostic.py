"""Values of any type in gnostic's messages."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apiext.api.openapi.gnostic import any_value
from apiext.base.meta.encoding import yaml_codec
from apiext.resources.registry.protobuf.kinds import Message, Scalar
from tests.support.builders.yaml_texts import TYPED, texts

_ANY = Message({2: ("yaml", Scalar.TEXT)})
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def _yaml(value: Any) -> bytes:
    data = any_value(value)
    size = len(data) - 1 if len(data) <= 128 else len(data) - 2
    text: str = _ANY.read(data[-size:])["yaml"]
    return text.encode()


@given(_VALUES)
def test_any_value_is_yaml_of_the_value(value: Any) -> None:
    """Read the same value with the rules of go-yaml and with PyYAML."""
    if len(any_value(value)) > 16_000:
        return
    assert yaml_codec.parse(_yaml(value))[0] == value
    assert yaml.safe_load(_yaml(value)) == value


@pytest.mark.parametrize("text", TYPED)
def test_strings_stay_strings(text: str) -> None:
    """Read a string as a string, whatever it looks like."""
    assert yaml_codec.parse(_yaml([text]))[0] == [text]


@pytest.mark.parametrize(
    "value, text",
    [(1, b"1\n"), (1.5, b"1.5\n"), (None, b"null\n"), ({}, b"{}\n"), ({"b": 1, "a": []}, b"b: 1\na: []\n"), (["x"], b"- x\n")],
)
def test_writes_block_style(value: Any, text: bytes) -> None:
    """Write block style, as the reference does, and keep the order of members."""
    assert _yaml(value) == text
