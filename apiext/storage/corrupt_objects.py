"""The error of a list with unreadable objects (apiserver pkg/storage/etcd3/corrupt_obj_deleter.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.base.meta.errors import StatusError
from apiext.base.meta.golang import formatting
from apiext.base.meta.gvk import GroupResource
from apiext.storage.errors import CorruptObjectError, EncryptedObjectError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_REPORTED_OBJECTS: Final = 100


class Corruption:
    """Collects the unreadable objects of a list."""

    def __init__(self, resource: GroupResource, found: Sequence[CorruptObjectError] = ()) -> None:
        self._resource = resource
        self._errors = list(found[:_MAX_REPORTED_OBJECTS])

    def add(self, error: CorruptObjectError) -> None:
        """Add an object.

        Raises:
            StatusError: 500 for too many objects (100).
        """
        self._errors.append(error)
        if len(self._errors) >= _MAX_REPORTED_OBJECTS:
            raise self._status({"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"})

    def check_watch(self) -> None:
        """Raise the error of a watch if an object was added: the reference's cache cannot load while an object is unreadable.

        Raises:
            StatusError: 429; clients try again.
        """
        if self._errors:
            status = _unavailable(self.summary())
            status.plain = _unavailable(self._plain().message)
            raise status

    def check(self) -> None:
        """Raise the error of the list if an object was added.

        Raises:
            StatusError: 500 with reason StorageReadError.
        """
        if self._errors:
            raise self._status()

    def summary(self) -> str:
        """Return the message of the list's error. Requires at least one object."""
        return self._summary(self._errors[0].describe())

    def _summary(self, first: str) -> str:
        message = f"failed to read one or more {self._resource} from the storage: {first}"
        return message + (f" (and {len(self._errors) - 1} more)" if len(self._errors) > 1 else "")

    def _status(self, *more: dict[str, str]) -> StatusError:
        causes = [{"reason": "UnexpectedServerResponse", "message": error.describe(), "field": error.key} for error in self._errors]
        details = {"name": "list", "group": self._resource.group, "kind": self._resource.resource}
        shown = {name: value for name, value in details.items() if value}
        status = StatusError(500, "StorageReadError", self.summary(), {**shown, "causes": [*causes, *more]})
        status.plain, status.public = self._plain(), self._summary(self._errors[0].public)
        return status

    def _plain(self) -> StatusError:
        """Return the list's error of a server that does not recognize corrupt objects. It stops at the first one."""
        first = self._errors[0]
        if isinstance(first, EncryptedObjectError):
            return errors.internal(f"unable to transform key {formatting.quote(first.key)}: {_problem(first)}")
        return plain_status(first)


def plain_status(error: CorruptObjectError) -> StatusError:
    """Return the answer of a server that does not recognize corrupt objects."""
    return errors.internal(_problem(error)) if isinstance(error, EncryptedObjectError) else errors.unknown(_problem(error))


def _problem(error: CorruptObjectError) -> str:
    """Return the error's message without its beginning, which contains the revision."""
    return error.message.partition(": ")[2] or error.message


def _unavailable(why: str) -> StatusError:
    return errors.too_many_requests(f"storage is (re)initializing: failed to list <unspecified>: {why}", 1)
