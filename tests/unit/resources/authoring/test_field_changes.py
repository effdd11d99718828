"""Changes of one field of an object."""

from typing import Any, Final

import pytest

from apiext.resources.authoring.laws import changed_object, value_at
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.related_versions import INTEGER, STRING, array, obj

_ENUM: Final = STRING | {"enum": ["x", "y"]}
_SPEC: Final = obj(("b",), a=INTEGER, b=STRING, e=_ENUM, f={"type": "boolean"}, l=array(STRING), n=INTEGER | {"maximum": 5})
SCHEMA: Final = CompiledSchema(obj(spec=_SPEC))
OBJECT: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a"},
    "spec": {"a": 1, "b": "t", "e": "x", "f": True, "l": ["z"], "n": 5},
}


@pytest.mark.parametrize(
    "choice, path, after, text",
    [
        (0, ("spec", "a"), 2, "spec.a: 1 becomes 2"),
        (1, ("spec", "b"), "tx", "spec.b: 't' becomes 'tx'"),
        (3, ("spec", "f"), False, "spec.f: True becomes False"),
        (4, ("spec", "l", 0), "zx", "spec.l[0]: 'z' becomes 'zx'"),
        (6, ("spec", "a"), 2, "spec.a: 1 becomes 2"),
        (2, ("spec", "e"), None, "spec.e: 'x' is removed"),
        (5, ("spec", "n"), None, "spec.n: 5 is removed"),
        (9, ("spec", "f"), False, "spec.f: True becomes False"),
    ],
)
def test_a_field_is_changed_or_removed(choice: int, path: tuple[str | int, ...], after: Any, text: str) -> None:
    """Choose the field by a number, and every third change is a removal."""
    found = changed_object(OBJECT, SCHEMA, choice)

    assert found is not None
    assert (value_at(found[0], path), found[1]) == (after, text)
    assert value_at(OBJECT, path) != after


def test_changes_are_valid() -> None:
    """Choose values that the schema allows, and remove no required field."""
    limited = CompiledSchema(obj(spec=obj(("n",), n=INTEGER | {"maximum": 5})))

    less = changed_object({"spec": {"n": 5}}, limited, 0)

    assert less is not None
    assert less[0] == {"spec": {"n": 4}}
    assert changed_object({"spec": {"n": 5}}, limited, 2) is None


def test_an_object_without_fields_has_no_change() -> None:
    """Return None where there is nothing to change."""
    assert changed_object({"spec": {}}, SCHEMA, 0) is None
