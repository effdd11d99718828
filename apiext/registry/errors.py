"""The map from storage errors to Status errors (apiserver pkg/storage/errors, storage.StorageError)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import errors
from apiext.storage.backend import BackendError
from apiext.storage.interface import (
    CorruptObjectError,
    InvalidObjectError,
    KeyExistsError,
    KeyNotFoundError,
    ResourceVersionConflictError,
    StorageError,
)

if TYPE_CHECKING:
    from apiext.meta.gvk import GroupResource

StorageFailure = (StorageError, BackendError)
"""Exceptions of a Store besides StatusError, for `except` clauses."""

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"

_KINDS: Final[dict[type[StorageError], tuple[int, str]]] = {
    KeyNotFoundError: (1, "key not found"),
    KeyExistsError: (2, "key exists"),
    ResourceVersionConflictError: (3, "resource version conflicts"),
    InvalidObjectError: (4, "invalid object"),
    CorruptObjectError: (7, "corrupt object"),
}


def interpret(error: StorageError | BackendError, *, resource: GroupResource, operation: str, name: str = "") -> errors.StatusError:
    """Return the Status error for a failed get, list, watch, create, update or delete."""
    if isinstance(error, KeyNotFoundError):
        return errors.not_found(resource, name)
    if isinstance(error, KeyExistsError):
        return errors.already_exists(resource, name)
    if isinstance(error, ResourceVersionConflictError):
        return errors.conflict(resource, name, MODIFIED)
    if isinstance(error, InvalidObjectError):
        return errors.conflict(resource, name, _as_storage_error(error))
    if isinstance(error, BackendError):
        # the outcome of a write is unknown: a retry could repeat it
        return errors.unknown(str(error))
    if isinstance(error, CorruptObjectError):
        return _corrupt(error, resource, operation)
    return errors.internal(_as_storage_error(error))


def _corrupt(error: CorruptObjectError, resource: GroupResource, operation: str) -> errors.StatusError:
    """Return the error about an object that cannot be read: its key lacks the prefix of all keys, and an update omits it."""
    if operation == "update":
        return errors.unknown(error.message)
    begin = f"/{resource.group}/{resource.resource}/" if resource.group else f"/{resource.resource}/"
    key = error.key[max(error.key.find(begin), 0) :]
    return errors.internal(_as_storage_error(CorruptObjectError(key, error.message)))


def _as_storage_error(error: StorageError) -> str:
    code, text = _KINDS.get(type(error), (0, ""))
    return f"StorageError: {text}, Code: {code}, Key: {error.key}, ResourceVersion: 0, AdditionalErrorMsg: {error.message}"
