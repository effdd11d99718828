"""No custom resource is created while its definition is being deleted.

Mirrors forbidCreateAdmission of apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from apiext.admission.attributes import CREATE, Admission, Attributes
from apiext.meta import errors


@dataclass(slots=True)
class Ending:
    """Whether the end of a definition has begun."""

    begun: bool = False


class ForbidCreate:
    """Refuses every create once the end has begun, be it under way already, and leaves the rest to another admission."""

    __slots__ = ("_delegate", "_ending")

    def __init__(self, delegate: Admission, ending: Ending) -> None:
        self._delegate = delegate
        self._ending = ending

    def handles(self, operation: str) -> bool:
        """Creates always: the end may begin while one is under way."""
        return operation == CREATE or self._delegate.handles(operation)

    async def admit(self, attributes: Attributes) -> None:
        """Raises StatusError (403) for a create."""
        self._refuse_create(attributes)
        await self._delegate.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Raises StatusError (403) for a create."""
        await self._delegate.validate(attributes)
        # last of all: what is refused late is not written, and what is written the deletion of all instances finds
        self._refuse_create(attributes)

    def _refuse_create(self, attributes: Attributes) -> None:
        if self._ending.begun and attributes.operation == CREATE:
            raise errors.forbidden(
                attributes.resource.group_resource,
                attributes.name,
                "create not allowed while custom resource definition is terminating",
            )
