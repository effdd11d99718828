"""Status errors have the reference's codes, reasons, messages and details."""

from __future__ import annotations

from apiext.meta import errors, field
from apiext.meta.gvk import GroupKind, GroupResource

WIDGETS = GroupResource("example.com", "widgets")


def test_not_found() -> None:
    """A missing object is named with its resource."""
    assert errors.not_found(WIDGETS, "a").status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'widgets.example.com "a" not found',
        "reason": "NotFound",
        "details": {"name": "a", "group": "example.com", "kind": "widgets"},
        "code": 404,
    }


def test_invalid_lists_every_cause() -> None:
    """A 422 has the messages joined, and one cause for each error."""
    error = errors.invalid(GroupKind("example.com", "Widget"), "a", [field.required(field.Path("spec", "size"), "")])

    assert error.code == 422
    assert error.message == 'Widget.example.com "a" is invalid: spec.size: Required value'
    assert error.status()["details"]["causes"] == [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.size"}]


def test_too_large_resource_version() -> None:
    """A revision not yet reached is a Timeout with a cause that clients look for."""
    status = errors.too_large_resource_version(9, 3).status()

    assert (status["code"], status["message"]) == (504, "Timeout: Too large resource version: 9, current: 3")
    assert status["details"] == {
        "retryAfterSeconds": 1,
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
    }
