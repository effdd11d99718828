"""Schemas that are large where an object is small."""

from typing import Any

import pytest

from apiext.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.schema.compiled import CompiledSchema

_TEXT = {"type": "string"}
_NAMES = [f"k{number}" for number in range(3_000)]


@pytest.mark.parametrize(
    "schema, obj, errors",
    [
        ({"type": "object", "properties": dict.fromkeys(_NAMES, _TEXT)}, {"k0": "x"}, 0),
        ({"type": "object", "anyOf": [{"required": [name]} for name in _NAMES]}, {"k0": "x"}, 0),
        ({"type": "object", "required": _NAMES, "properties": {"a": _TEXT}}, {}, 3_000),
        ({"type": "object", "properties": {"a": {"type": "array", "items": _TEXT}}}, {"a": [*("x" * 3_000), 1]}, 1),
    ],
    ids=["properties", "anyOf", "required", "report"],
)
def test_leave_the_event_loop(schema: dict[str, Any], obj: dict[str, Any], errors: int) -> None:
    """Stop a validation that takes long, so that it starts again elsewhere, and let it end there."""
    compiled = CompiledSchema(schema)
    with InlineWork(), pytest.raises(HeavyWorkError):
        compiled.validate_values(obj)

    assert len(compiled.validate_values(obj)) == errors
    with InlineWork(trusting=True):
        assert len(compiled.validate_values(obj)) == errors
