"""The error of a list with objects that cannot be read (apiserver pkg/storage/etcd3/corrupt_obj_deleter.go)."""

from __future__ import annotations

from typing import Final

from apiext.meta import errors
from apiext.meta.errors import StatusError
from apiext.meta.gvk import GroupResource
from apiext.storage.interface import CorruptObjectError

_MAX_REPORTED_OBJECTS: Final = 100


class Corruption:
    """Collects the objects that a list could not read."""

    def __init__(self, resource: GroupResource) -> None:
        self._resource = resource
        self._errors: list[CorruptObjectError] = []

    def add(self, error: CorruptObjectError) -> None:
        """Add an object.

        Raises:
            StatusError: 500, when there are too many (100).
        """
        self._errors.append(error)
        if len(self._errors) >= _MAX_REPORTED_OBJECTS:
            raise self._status({"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"})

    def unavailable(self) -> StatusError:
        """Return the error of a watch (429): the reference's cache cannot be filled while an object is unreadable."""
        return errors.too_many_requests(f"storage is (re)initializing: failed to list <unspecified>: {self.summary()}", 1)

    @property
    def found(self) -> bool:
        """Report whether an object was added."""
        return bool(self._errors)

    def check(self) -> None:
        """Raise the error of the list if an object was added.

        Raises:
            StatusError: 500 with reason StorageReadError.
        """
        if self._errors:
            raise self._status()

    def summary(self) -> str:
        """Return the message of the list's error; at least one object was added."""
        message = f"failed to read one or more {self._resource} from the storage: {self._errors[0].describe()}"
        return message + (f" (and {len(self._errors) - 1} more)" if len(self._errors) > 1 else "")

    def _status(self, *more: dict[str, str]) -> StatusError:
        causes = [{"reason": "UnexpectedServerResponse", "message": error.describe(), "field": error.key} for error in self._errors]
        details = {"name": "list", "group": self._resource.group, "kind": self._resource.resource}
        shown = {name: value for name, value in details.items() if value}
        return StatusError(500, "StorageReadError", self.summary(), {**shown, "causes": [*causes, *more]})
