"""Codes, reasons, messages and details of Status errors."""

from apiext.base.meta import errors, field
from apiext.base.meta.gvk import GroupKind, GroupResource
from apiext.base.meta.limits import MAX_MESSAGE_CHARACTERS

WIDGETS = GroupResource("example.com", "widgets")


def test_not_found_names_the_resource() -> None:
    """Name a missing object with its resource."""
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
    """Join the messages of a 422 and list a cause for each error."""
    error = errors.invalid(GroupKind("example.com", "Widget"), "a", [field.required(field.Path("spec", "size"), "")])

    assert error.code == 422
    assert error.message == 'Widget.example.com "a" is invalid: spec.size: Required value'
    assert error.status()["details"]["causes"] == [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.size"}]


def test_too_large_resource_version() -> None:
    """Return a Timeout with the cause that clients look for."""
    status = errors.too_large_resource_version(9, 3).status()

    assert (status["code"], status["message"]) == (504, "Timeout: Too large resource version: 9, current: 3")
    assert status["details"] == {
        "retryAfterSeconds": 1,
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
    }


def test_a_long_message_is_cut() -> None:
    """Cut a message that quotes a whole body."""
    error = errors.bad_request("\0" * (MAX_MESSAGE_CHARACTERS + 7))

    assert error.message == "\0" * MAX_MESSAGE_CHARACTERS + "... (7 more characters)"
    assert str(error) == error.message
