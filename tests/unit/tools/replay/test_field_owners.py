"""Fields that managers have lost."""

from typing import Any

import pytest

from apiext.tools.replay.known_reads import lost_owners


def _object(*entries: tuple[str, dict[str, Any]], version: str = "v1") -> dict[str, Any]:
    managed = [{"manager": name, "operation": "Apply", "apiVersion": version, "fieldsV1": fields} for name, fields in entries]
    return {"metadata": {"managedFields": managed}}


@pytest.mark.parametrize(
    "before,after,lost",
    [
        ([("x", {"f:spec": {"f:a": {}}})], [("x", {"f:spec": {"f:a": {}}})], []),
        ([("x", {"f:spec": {"f:a": {}}})], [("x", {"f:spec": {"f:a": {}}}), ("y", {"f:spec": {}})], []),
        ([("x", {"f:spec": {"f:a": {}, "f:b": {}}})], [("x", {"f:spec": {"f:b": {}}})], [("x", "spec.a")]),
        ([("x", {"f:spec": {'k:{"n":"1"}': {".": {}, "f:v": {}}}})], [("x", {"f:spec": {}})], [("x", "spec[]")]),
        ([("x", {"f:spec": {'k:{"n":"1"}': {".": {}}}})], [("x", {"f:spec": {'k:{"n":"1"}': {}}})], [("x", "spec[]")]),
        ([("x", {"f:spec": {}})], [], [("x", "")]),
    ],
)
def test_lost_owners(before: list[Any], after: list[Any], lost: list[tuple[str, str]]) -> None:
    """Yield the topmost lost field of each manager."""
    assert list(lost_owners(_object(*before), _object(*after))) == lost


def test_owners_move_between_versions() -> None:
    """Keep fields that a manager owns in another version now."""
    fields: dict[str, Any] = {"f:spec": {"f:a": {}}}

    assert list(lost_owners(_object(("x", fields)), _object(("x", fields), version="v2"))) == []
