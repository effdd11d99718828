"""Texts of field paths and field errors."""

import pytest

from apiext.base.meta import field


@pytest.mark.parametrize(
    "path, text",
    [
        (field.ROOT, "<nil>"),
        (field.Path("spec"), "spec"),
        (field.Path("spec", "names", "kind"), "spec.names.kind"),
        (field.ROOT.child("spec").index(3).child("name"), "spec[3].name"),
        (field.Path("metadata").child("labels").key("a/b"), "metadata.labels[a/b]"),
        (field.ROOT.child(""), "[]"),
    ],
)
def test_path_text(path: field.Path, text: str) -> None:
    """Print names with dots and subscripts in brackets."""
    assert str(path) == text


@pytest.mark.parametrize(
    "error, text",
    [
        (field.required(field.Path("spec"), ""), "spec: Required value"),
        (field.invalid(field.Path("a"), 'x"y', "bad"), 'a: Invalid value: "x\\"y": bad'),
        (field.invalid(field.Path("a"), 1.0, ""), "a: Invalid value: 1"),
        (field.invalid(field.Path("a"), {"b": [1, None]}, "no"), 'a: Invalid value: {"b":[1,null]}: no'),
        (field.invalid(field.Path("a"), None, "no"), "a: Invalid value: null: no"),
        (field.not_supported(field.Path("a"), "z", ["x", "y"]), 'a: Unsupported value: "z": supported values: "x", "y"'),
        (field.invalid(field.Path("a"), "<\0\u2028", "no"), r'a: Invalid value: "<\x00\u2028": no'),
        (field.invalid(field.Path("a"), field.typed_text("<\0\u2028"), "no"), r'a: Invalid value: "\u003c\u0000\u2028": no'),
        (field.too_long(field.Path("a"), 1), "a: Too long: may not be more than 1 byte"),
        (field.too_many(field.Path("a"), 5, 4), "a: Too many: 5: must have at most 4 items"),
        (field.duplicate(field.Path("a"), True), "a: Duplicate value: true"),
        (field.duplicate(field.Path("a"), field.OMITTED), "a: Duplicate value"),
        (field.invalid(field.Path("a"), field.OMITTED, "no"), "a: Invalid value: no"),
        (field.internal(field.Path("a"), "no"), "a: Internal error: no"),
    ],
)
def test_error_text(error: field.FieldError, text: str) -> None:
    """Print the field, the label of the type, the value as Go prints it, and the detail."""
    assert str(error) == text


def test_aggregate_names_each_message_once() -> None:
    """Print equal messages once and several in brackets."""
    one, two = field.required(field.Path("a"), ""), field.required(field.Path("b"), "")

    assert field.aggregate([one, one]) == "a: Required value"
    assert field.aggregate([one, two]) == "[a: Required value, b: Required value]"


def test_distinct_keeps_the_first() -> None:
    """Keep the first of several errors with the same message."""
    one, other = field.invalid(field.Path("a"), 1, "x"), field.required(field.Path("b"))

    assert field.distinct([one, other, field.invalid(field.Path("a"), 1, "x"), other]) == [one, other]
    assert field.distinct([one]) == [one]


def test_a_large_error_hides_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the errors after one whose value alone is as long as all may be, and stop when the others are."""
    monkeypatch.setattr(field, "MAX_ERROR_CHARACTERS", 100)
    large, small = field.invalid(field.Path("a"), "x" * 200, ""), field.required(field.Path("b"))
    assert field.limited([large, small]) == [large, small]
    assert len(field.limited([small] * 100)) == 1 + -(-100 // len(str(small)))
