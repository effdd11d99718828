"""General paths of fields."""

from typing import Any, Final

import pytest

from apiext.base.meta import field
from apiext.resources.evaluation.fields import described, general, steps_of
from apiext.schema.model import Structural

SCHEMA: Final = Structural(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "hosts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "a.b": {"type": "object", "properties": {"c": {"type": "integer"}}},
                },
            }
        },
    }
)
OBJECT: Final[dict[str, Any]] = {"spec": {"hosts": [{"name": "x"}, {"name": "y"}], "labels": {"k.x/y": "1", "k": "2"}, "a.b": {"c": 1}}}


@pytest.mark.parametrize(
    "text, steps, path",
    [
        ("<nil>", [], ""),
        ("spec", ["spec"], "spec"),
        ("spec.hosts[1].name", ["spec", "hosts", 1, "name"], "spec.hosts[].name"),
        ("spec.labels.k.x/y", ["spec", "labels", "k.x/y"], "spec.labels[]"),
        ("spec.labels[k.x/y]", ["spec", "labels", "k.x/y"], "spec.labels[]"),
        ("spec.labels.k", ["spec", "labels", "k"], "spec.labels[]"),
        ("spec.a.b.c", ["spec", "a.b", "c"], "spec.a.b.c"),
        ("spec.missing.deep", ["spec", "missing", "deep"], "spec.missing.deep"),
        ("spec.labels[gone]", ["spec", "labels", "gone"], "spec.labels[]"),
        ("spec.hosts[9]", ["spec", "hosts", 9], "spec.hosts[]"),
        ("spec.labels[open", ["spec", "labels", "open"], "spec.labels[]"),
    ],
)
def test_paths_of_errors_are_found_in_objects(text: str, steps: list[str | int], path: str) -> None:
    """Read a field error's path by the object that it is about."""
    assert steps_of(text, OBJECT) == steps
    assert general(steps, SCHEMA) == path


def test_messages_leave_out_what_differs_between_objects() -> None:
    """Give errors of different items and values the same path and message."""
    errors = [
        field.invalid(f"spec.hosts[{index}].name", name, f"spec.hosts[{index}].name in body is odd") for index, name in ((0, "x"), (1, "y"))
    ]

    assert {described(error, OBJECT, SCHEMA) for error in errors} == {
        ("spec.hosts[].name", "Invalid value: spec.hosts[].name in body is odd")
    }


def test_an_error_of_the_root_has_no_path() -> None:
    """Describe an error of the whole object without a path."""
    assert described(field.required(field.ROOT), OBJECT, SCHEMA) == ("", "Required value")
