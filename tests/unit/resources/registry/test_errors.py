"""Status errors for failures of storage."""

import pytest

from apiext.base.meta.gvk import GroupResource
from apiext.resources.registry.errors import interpret
from apiext.storage.backend import BackendError, UnavailableError
from apiext.storage.errors import CorruptObjectError, InvalidObjectError, KeyExistsError, KeyNotFoundError, StorageError

RESOURCE = GroupResource("example.com", "widgets")


@pytest.mark.parametrize(
    "error, code, reason, message",
    [
        (KeyNotFoundError("k", "key not found"), 404, "NotFound", 'widgets.example.com "a" not found'),
        (KeyExistsError("k", "key exists"), 409, "AlreadyExists", 'widgets.example.com "a" already exists'),
        (
            InvalidObjectError("/k", "Precondition failed"),
            409,
            "Conflict",
            (
                'Operation cannot be fulfilled on widgets.example.com "a": StorageError: invalid object, Code: 4, Key: /k, '
                "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed"
            ),
        ),
        (
            CorruptObjectError("/k", "no JSON"),
            500,
            "InternalError",
            "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /k, ResourceVersion: 0, AdditionalErrorMsg: no JSON",
        ),
        (
            UnavailableError("etcdserver: request timed out"),
            500,
            "",
            "etcdserver: request timed out",
        ),
        (BackendError("disk full"), 500, "", "disk full"),
    ],
)
def test_returns_the_reference_s_status(error: StorageError | BackendError, code: int, reason: str, message: str) -> None:
    """Return the reference's code, reason and message, without a retry hint."""
    status = interpret(error, resource=RESOURCE, operation="get", name="a")

    assert (status.code, status.reason, status.message) == (code, reason, message)
    assert status.retry_after == 0
