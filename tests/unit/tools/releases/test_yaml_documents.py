"""Documents of YAML and JSON files."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.documents import FileProblem, parse
from apiext.tools.releases.yaml_documents import documents
from tests.support.builders.yaml_texts import TYPED, texts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.integers() | st.booleans(), inner, max_size=3),
    max_leaves=8,
)


def _outcome(data: bytes, read: Any) -> Any:
    try:
        return list(read(data))
    except FileProblem as problem:
        return str(problem)


def _check(data: bytes) -> None:
    fast, complete = _outcome(data, documents), _outcome(data, parse)

    assert json_values.equal(fast, complete), (data, fast, complete)


@given(st.lists(VALUES, max_size=3), st.sampled_from([None, True, False]))
def test_reads_what_a_writer_writes(values: list[Any], style: bool | None) -> None:  # noqa: FBT001
    """Read the same values as the complete parser from documents in every style."""
    _check(yaml.dump_all(values, default_flow_style=style, allow_unicode=True).encode())


@pytest.mark.parametrize("text", TYPED)
def test_reads_plain_texts(text: str) -> None:
    """Read plain texts as the complete parser does: as numbers, booleans, null, texts or mistakes."""
    for document in (text, f"a: {text}", f"- {text}", f"{text}: 1", f"a:\n  {text}"):
        _check(document.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n---\na: 1\n...\n---\nb: 2",
        "a: 1\n---\nb: {{ x }}",
        "a: &x [1]\nb: *x",
        "a: &x {c: 1}\nb: {<<: *x, d: 2}",
        "a: !!str 1",
        "? [a]\n: 1",
        "a: 1\na: 2",
        "1: a",
        "%YAML 1.1\n---\na: 1",
        '{"a": 1.0, "b": 1e3}',
        "{a: 1, b: [c, {d: e}]}",
        "a: |\n  x\n  y\nb: >-\n  z",
        "\x00",
        "a: " + "[" * 300 + "]" * 300,
        "a: 18446744073709551616",
        "a: 9223372036854775808",
    ],
)
def test_reads_other_forms(text: str) -> None:
    """Read anchors, merges, tags, unusual keys and mistakes as the complete parser does."""
    _check(text.encode())


def test_reads_aliases() -> None:
    """Read files with aliases completely."""
    _check(b"a: &a [1, 2]\nb: [*a, *a, *a]\n")


def test_yields_before_a_mistake() -> None:
    """Yield the documents before a mistake."""
    found = documents(b"a: 1\n---\nb: {{ x }}")

    assert next(found) == {"a": 1}
    with pytest.raises(FileProblem):
        next(found)
