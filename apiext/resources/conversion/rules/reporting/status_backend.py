"""What the controller of statuses needs of a server or cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.reporting.status import RulesUsage


class StatusBackend(Protocol):
    """Reads CRDs, and writes statuses. Errors that `retryable` names are tried again."""

    @property
    def retryable(self) -> tuple[type[Exception], ...]:
        """Return the errors of both methods that may pass."""
        ...

    async def definition(self, name: str) -> Object | None:
        """Return a CustomResourceDefinition with its schemas, None if there is none."""
        ...

    async def write_status(self, name: str, status: Object) -> None:
        """Replace the status of a Conversion object. Do nothing if the object is gone."""
        ...

    def usage(self, name: str) -> RulesUsage:
        """Return whether the rules of a CRD are used."""
        ...
