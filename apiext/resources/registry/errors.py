"""The map from storage errors to Status errors (apiserver pkg/storage/errors, storage.StorageError)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.storage.backend import BackendError, UntransformableError
from apiext.storage.corrupt_objects import plain_status
from apiext.storage.errors import (
    CorruptObjectError,
    EncryptedObjectError,
    InvalidObjectError,
    KeyExistsError,
    KeyNotFoundError,
    StorageError,
)

if TYPE_CHECKING:
    from apiext.base.meta.gvk import GroupResource

StorageFailure = (StorageError, BackendError)
"""Exceptions of a Store other than StatusError, for `except` clauses."""

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


def interpret(error: StorageError | BackendError, *, resource: GroupResource, operation: str, name: str = "") -> errors.StatusError:
    """Return the Status error for a failed get, list, watch, create, update or delete."""
    if isinstance(error, KeyNotFoundError):
        return errors.not_found(resource, name)
    if isinstance(error, KeyExistsError):
        return errors.already_exists(resource, name)
    if isinstance(error, InvalidObjectError):
        return errors.conflict(resource, name, error.describe())
    if isinstance(error, UntransformableError):
        return errors.internal(str(error))
    if isinstance(error, BackendError):
        # the result of the write is unknown: a retry could repeat it
        return errors.unknown(str(error))
    if isinstance(error, CorruptObjectError):
        status = _corrupt(error, resource, operation)
        status.plain, status.public = plain_status(error), error.public
        return status
    return errors.internal(error.describe())


def _corrupt(error: CorruptObjectError, resource: GroupResource, operation: str) -> errors.StatusError:
    if operation == "update":
        return errors.internal(error.message) if isinstance(error, EncryptedObjectError) else errors.unknown(error.message)
    error.key = relative_key(error.key, resource)
    return errors.internal(error.describe())


def relative_key(key: str, resource: GroupResource) -> str:
    """Return an object's key without the prefix of all keys, as in the reference's messages about corrupt objects and dry runs."""
    begin = f"/{resource.group}/{resource.resource}/" if resource.group else f"/{resource.resource}/"
    return key[max(key.find(begin), 0) :]
