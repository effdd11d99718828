"""Problems of stored objects, as conditions show them."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiext.api.migration import automatic_migration as schema_check
from apiext.base.meta import field
from apiext.base.meta.field import Path


async def _performed(_workers: object, scope: Any, execute: Any, call: Any) -> Any:
    return await execute(scope, call)


async def test_quotes_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name fields and rules without the values of the object, which not every reader of a definition may read."""
    size = Path("spec", "size")
    errors = [
        field.invalid(size, "S3CRET", "should match '^a$'"),
        field.not_supported(size, "S3CRET", ["a", "b"]),
        field.required(Path("name")),
        field.duplicate(Path("spec", "items").index(1), {"name": "S3CRET"}),
    ]
    scope: Any = SimpleNamespace(rest=SimpleNamespace(strategy=SimpleNamespace(validate=lambda *_: errors)))
    monkeypatch.setattr(schema_check, "perform", _performed)

    shown = await schema_check.problems(cast("Any", None), scope, cast("Any", SimpleNamespace(key="a", data=b"{}")))

    assert shown == (
        '[spec.size: Invalid value: should match \'^a$\', spec.size: Unsupported value: supported values: "a", "b", '
        "name: Required value, spec.items[1]: Duplicate value]"
    )
