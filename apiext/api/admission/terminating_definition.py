"""Rejects creates of custom resources while their definition is being deleted.

Mirrors forbidCreateAdmission of apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from apiext.api.admission.attributes import Admission, Attributes, DynamicPart
from apiext.api.admission.sources import RequestPlace
from apiext.base.meta import errors
from apiext.base.meta.request import AdmissionOperation


@dataclass(slots=True)
class Termination:
    """Whether the deletion of a definition has started."""

    started: bool = False


class ForbidCreate(Admission):
    """Rejects creates after the deletion has started, including running ones, and delegates all other operations."""

    def __init__(self, delegate: Admission, termination: Termination) -> None:
        self._delegate = delegate
        self._termination = termination

    def handles(self, operation: AdmissionOperation) -> bool:
        """Return whether admission applies to an operation. It always applies to creates: the deletion may start during one."""
        return operation == AdmissionOperation.CREATE or self._delegate.handles(operation)

    def sees(self, phase: str, place: RequestPlace) -> bool:
        """Return whether the delegate sees a request, or rejects it: a create after the deletion has started."""
        return (self._termination.started and place.operation == AdmissionOperation.CREATE) or self._delegate.sees(phase, place)

    def admits_unseen(self, phase: str, place: RequestPlace) -> bool:
        """Admit a request that the delegate admits so. After the deletion has started, creates are rejected."""
        return not self.sees(phase, place) and self._delegate.admits_unseen(phase, place)

    @property
    def dynamic(self) -> DynamicPart | None:
        """Return that of the delegate."""
        return self._delegate.dynamic

    def in_server(self) -> ForbidCreate:
        """Return the same check around the part of the delegate."""
        return ForbidCreate(self._delegate.in_server(), self._termination)

    async def admit(self, attributes: Attributes) -> None:
        """Reject a create, else delegate.

        Raises:
            StatusError: 403 for a create after the deletion has started, else that of the delegate.
        """
        self._reject_create(attributes)
        await self._delegate.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Delegate, then reject a create.

        Raises:
            StatusError: 403 for a create after the deletion has started, else that of the delegate.
        """
        await self._delegate.validate(attributes)
        # check last: a create that passes is stored before the finalizer lists the instances
        self._reject_create(attributes)

    def _reject_create(self, attributes: Attributes) -> None:
        if self._termination.started and attributes.operation == AdmissionOperation.CREATE:
            raise errors.forbidden(
                attributes.resource.group_resource,
                attributes.name,
                "create not allowed while custom resource definition is terminating",
            )
