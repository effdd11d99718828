"""Paths of fields to redact."""

import pytest

from apiext.tools.recordings.field_path import RedactPathError, below, parse_field_path


@pytest.mark.parametrize(
    "text,path",
    [
        ("spec.hosts[].token", ("spec", "hosts", "[]", "token")),
        (".spec.*.key", ("spec", "*", "key")),
        ("$.spec.list[*]", ("spec", "list", "[]")),
        ("metadata.annotations[example.com/key]", ("metadata", "annotations", "example.com/key")),
        ("metadata.labels['a.b']", ("metadata", "labels", "a.b")),
    ],
)
def test_reads_paths(text: str, path: tuple[str, ...]) -> None:
    """Read names with dots or in brackets, items and stars."""
    assert parse_field_path(text) == path


@pytest.mark.parametrize("text", ["", "$", "a..b", "a[", "a]b", "[]x", "metadata", "metadata.name"])
def test_refuses_other_texts(text: str) -> None:
    """Refuse what is no path, and metadata that must stay."""
    with pytest.raises(RedactPathError):
        parse_field_path(text)


def test_goes_below() -> None:
    """Keep the rests of the paths that lead through a member."""
    assert below((("a", "b"), ("*",), ("c",)), "a") == (("b",), ())
