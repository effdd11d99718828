"""Conditions and events that the operator writes to the host."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.operator.api_clients import Json


class ConditionReason(StrEnum):
    """Reasons of the condition ServedByApiext."""

    SERVING = "Serving"
    HAND_OVER_BLOCKED = "HandOverBlocked"
    """The hand-over is requested, but cannot be made."""
    ADOPTING = "Adopting"
    BLOCKED = "Blocked"
    FAILED = "Failed"
    HANDING_OVER = "HandingOver"
    HANDED_OVER = "HandedOver"

    @property
    def is_served(self) -> bool:
        """Whether apiext serves the group: the status of the condition."""
        return self in {ConditionReason.SERVING, ConditionReason.HAND_OVER_BLOCKED}

    @property
    def needs_attention(self) -> bool:
        """Whether a person has to act."""
        return self in {ConditionReason.FAILED, ConditionReason.BLOCKED, ConditionReason.HAND_OVER_BLOCKED}


class Reporter(Protocol):
    """Reports on definitions of the host. A failure is logged, never raised."""

    async def condition(self, crds: Iterable[Json], reason: ConditionReason, message: str) -> None:
        """Set the condition on definitions of the host, if it differs; frequent progress messages are dropped."""
        ...

    async def event(self, about: Json, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an event about a CustomResourceDefinition or an APIService of the host; repeated events are counted."""
        ...
