"""What a registry call gets besides the object: who asks, for which namespace, with which options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum

from apiext.meta.json_codec import Object
from apiext.meta.request import RequestInfo, UserInfo
from apiext.storage.interface import Preconditions


class Operation(StrEnum):
    """What admission is asked about."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


Admit = Callable[[Operation, Object | None, Object | None], Awaitable[object]]
"""Admission inside the registry: `await admit(operation, new, old)`, before anything is written.

Validating admission for CREATE (old is None) and UPDATE, where mutating admission ran before (a create) or in the updater;
mutating and validating admission for DELETE (new is None). It must not change the objects, refuses by raising StatusError,
may be called again for a fresher state of the same object, and what it returns is not looked at.
"""

Updater = Callable[[Object], Awaitable[Object]]
"""Makes the new object from the existing one ({} where there is none); may be called again with a fresher state.

It must not change the existing object, nor give back one that shares anything with it except unchanged members.
"""


@dataclass(slots=True)
class RequestContext:
    """One request as the registry sees it."""

    user: UserInfo
    namespace: str = ""
    """The namespace of the request's path, "" for cluster-scoped resources and for all namespaces."""
    info: RequestInfo | None = None
    warnings: list[str] = field(default_factory=list)
    """Texts for Warning headers; the registry appends."""


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """How to create."""

    dry_run: bool = False
    field_manager: str = ""
    admit: Admit | None = None


@dataclass(frozen=True, slots=True)
class UpdateOptions:
    """How to update."""

    dry_run: bool = False
    field_manager: str = ""
    preconditions: Preconditions | None = None
    """For a PUT: the uid that the body names, if any."""
    force_create: bool = False
    """Create what does not exist, although the resource does not allow it (server-side apply)."""
    admit: Admit | None = None


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete."""

    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    """Orphan, Background or Foreground; anything else is refused by the registry."""
    dry_run: bool = False
    admit: Admit | None = None
