"""What the operator says on the host about what it does."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.operator.api_clients import Json


class Reason(StrEnum):
    """Reasons of the condition ServedByApiext."""

    SERVING = "Serving"
    HAND_OVER_BLOCKED = "HandOverBlocked"
    """Apiext goes on serving what it should give back."""
    ADOPTING = "Adopting"
    BLOCKED = "Blocked"
    FAILED = "Failed"
    HANDING_OVER = "HandingOver"
    HANDED_OVER = "HandedOver"

    @property
    def is_served(self) -> bool:
        """Whether apiext serves the group, which is what the condition says."""
        return self in {Reason.SERVING, Reason.HAND_OVER_BLOCKED}

    @property
    def is_trouble(self) -> bool:
        """Whether somebody has to do something about it."""
        return self in {Reason.FAILED, Reason.BLOCKED, Reason.HAND_OVER_BLOCKED}


class Reporter(Protocol):
    """Tells people about definitions of the host. What cannot be told is logged; nothing is raised."""

    async def condition(self, crds: Iterable[Json], reason: Reason, message: str) -> None:
        """Set the condition on definitions of the host, where it says something else; a message of progress is not set at every change."""
        ...

    async def event(self, about: Json, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an event about a CustomResourceDefinition or an APIService of the host; what is repeated is counted."""
        ...
