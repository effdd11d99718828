"""The error of a list with objects that cannot be read (apiserver pkg/storage/etcd3/corrupt_obj_deleter.go)."""

from __future__ import annotations

from typing import Final

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

    def check(self) -> None:
        """Raise the error of the list if an object was added.

        Raises:
            StatusError: 500 with reason StorageReadError.
        """
        if self._errors:
            raise self._status()

    def _status(self, *more: dict[str, str]) -> StatusError:
        causes = [{"reason": "UnexpectedServerResponse", "message": error.describe(), "field": error.key} for error in self._errors]
        message = f"failed to read one or more {self._resource} from the storage: {self._errors[0].describe()}"
        if len(self._errors) > 1:
            message += f" (and {len(self._errors) - 1} more)"
        details = {"name": "list", "group": self._resource.group, "kind": self._resource.resource}
        shown = {name: value for name, value in details.items() if value}
        return StatusError(500, "StorageReadError", message, {**shown, "causes": [*causes, *more]})
