"""Paths of fields in rules."""

import pytest

from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.paths import InvalidPathError, parse_path, path_text, prefix_length


@pytest.mark.parametrize(
    "text, steps",
    [
        ("spec.size", ("spec", "size")),
        (".spec.size", ("spec", "size")),
        ("spec.items[*].size", ("spec", "items", EACH, "size")),
        ("spec.rows[*][*]", ("spec", "rows", EACH, EACH)),
        ("spec['a.b/c'].d", ("spec", "a.b/c", "d")),
        (r"spec['it\'s']", ("spec", "it's")),
        ("metadata.labels['a.b/c']", ("metadata", "labels", "a.b/c")),
        ("metadata.annotations['Upper.example/X']", ("metadata", "annotations", "Upper.example/X")),
        ("metadata.annotations.x", ("metadata", "annotations", "x")),
    ],
)
def test_a_path_has_steps(text: str, steps: tuple[str, ...]) -> None:
    """Parse names, quoted names and [*]; the text of the steps is a path with the same steps."""
    assert parse_path(text) == steps
    assert parse_path(path_text(steps)) == steps


@pytest.mark.parametrize(
    "text", ["", ".", "spec.", "spec..a", "spec[0]", "spec[*", "spec['a", "spec[*]a", "spec['']", "spec['[*]']", "a'b"]
)
def test_malformed_paths_are_refused(text: str) -> None:
    """Refuse what is no path."""
    with pytest.raises(InvalidPathError):
        parse_path(text)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion",
        "kind",
        "metadata",
        "metadata.name",
        "metadata.labels",
        "metadata.labels[*]",
        "metadata.labels.a.b",
        "[*].a",
        "metadata.finalizers[*]",
        "metadata.labels['a b']",
        "metadata.annotations['A/b c']",
        "metadata.annotations['conversion.apiext.dev/carried']",
    ],
)
def test_rules_do_not_touch_identity(text: str) -> None:
    """Refuse paths to identity, to other metadata than one label or annotation, and to the carrier."""
    with pytest.raises(InvalidPathError, match="must"):
        parse_path(text)


def test_the_prefix_ends_with_the_last_list() -> None:
    """Count the steps through the last [*]."""
    assert prefix_length(parse_path("spec.a")) == 0
    assert prefix_length(parse_path("spec.a[*].b[*].c")) == 5
