"""How a plan is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apiext.base.webhook.host_addresses import ServiceAddresses
    from apiext.resources.comparison.grades import Grades

OnProgress = Callable[[str, int, int | None], None]
"""Receives the name of a definition, the number of its objects judged so far, and that of all its objects if it is known."""


def ignore_progress(_name: str, _judged: int, _total: int | None) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How a plan is made."""

    grades: Grades
    webhook: Mapping[str, Any] | None = None
    """clientConfig of the conversion webhook, in place of that of the definitions."""
    services: ServiceAddresses | None = None
    calls_webhooks: bool = False
    """Whether webhooks are called where the definitions say."""
    judges_rollback: bool = True
    removes: bool = False
    """Whether definitions that the new release lacks are deleted."""
    on_progress: OnProgress = ignore_progress
