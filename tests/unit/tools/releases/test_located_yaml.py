"""YAML with the places of its values."""

import pytest

from apiext.tools.releases.located_yaml import LocatedYAMLError, located


def test_values_have_go_yaml_s_types() -> None:
    """Scalars have the types of go-yaml: no base 60, yes is true."""
    assert located(b"a: yes\nb: 1:30\nc: '1'\nd: ~\ne: 1.5\n").value == {"a": True, "b": "1:30", "c": "1", "d": None, "e": 1.5}


def test_anchors_may_be_defined_again() -> None:
    """A later anchor replaces an earlier one; merges keep the mapping's own members."""
    document = located(b"a: &x {n: 1}\nb: *x\nc: &x {n: 2}\nd: *x\ne: {<<: *x, m: 3}\n")

    assert document.value == {"a": {"n": 1}, "b": {"n": 1}, "c": {"n": 2}, "d": {"n": 2}, "e": {"n": 2, "m": 3}}
    assert document.spans["b",].is_alias


def test_lines_of_members() -> None:
    """The line of a value is that of its name; what is missing has the line of the value around it."""
    document = located(b"# c\na:\n  - name: x\n    text: |\n      y\n  - name: z\n")

    assert [document.line(("a", 0)), document.line(("a", 0, "text")), document.line(("a", 1, "name")), document.line(("a", 1, "no"))] == [
        3,
        4,
        6,
        6,
    ]


@pytest.mark.parametrize("text", [b"# c\n---\na: 1\n---\n", b"---\n# c\n---\na: 1\n...\n---\n# d\n"])
def test_empty_documents_do_not_count(text: bytes) -> None:
    """Return the document that is not empty."""
    assert located(text).value == {"a": 1}


@pytest.mark.parametrize(
    "text,message",
    [
        (b"a: 1\n---\n# c\nb: 2\n", "line 4: another document begins, where one is expected"),
        (b"a: 1\n---\nb: [", "line 3: another document begins"),
        (b"a: [", "line 2: "),
        (b"a: *x", "line 1: undefined alias x"),
        (b"a: 1\nb: .inf", "line 2: .inf is no JSON value"),
        (b"[1]: 2", "line 1: the name of a member is not a text"),
        (b"<<: 3", "line 1: << needs a mapping"),
    ],
)
def test_mistakes_have_a_line(text: bytes, message: str) -> None:
    """An invalid document is refused with the line."""
    with pytest.raises(LocatedYAMLError, match=message.replace("[", r"\[")):
        located(text)
