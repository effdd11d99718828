"""The parameters of registry calls: user, namespace and options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.request import AdmissionOperation, UserInfo
from apiext.storage.interface import Preconditions

Admit = Callable[[AdmissionOperation, Object | None, Object | None], Awaitable[object]]
"""Admission inside the registry: `await admit(operation, new, old)`, before anything is written.

Runs validating admission for CREATE (old is None) and UPDATE; mutating admission ran before (create) or in the updater. Runs
mutating and validating admission for DELETE (new is None). It must not change the objects. It raises StatusError to refuse. The
registry may call it again with a newer state, and ignores its result.
"""

Updater = Callable[[Object], Awaitable[Object]]
"""Makes the new object from the existing one ({} if absent). The registry may call it again with a newer state.

It must not change the existing object. Its result may share only unchanged members with it.
"""


@dataclass(slots=True)
class RequestContext:
    """A request in the registry."""

    namespace: str = ""
    """The namespace of the request's path; "" for cluster-scoped resources and for all namespaces."""
    subresource: str = ""
    warnings: list[str] = field(default_factory=list)
    """Messages for Warning headers. The registry appends to them."""
    name: str = ""
    """The name in the request's path; "" for a collection."""
    user: UserInfo | None = None
    """The requesting user; None for the server's own requests."""
    annotations: dict[str, str] | None = None
    """Annotations of the request's audit event, to which the registry may add; None if it is not recorded."""


@dataclass(slots=True)
class CreateOptions:
    """Options of a create."""

    dry_run: bool = False
    admit: Admit | None = None


@dataclass(slots=True)
class UpdateOptions:
    """Options of an update."""

    dry_run: bool = False
    preconditions: Preconditions | None = None
    """The uid in the body of a PUT, if there is one."""
    admit: Admit | None = None
    create: bool = False
    """Create a missing object."""
    keep_managers: bool = False
    """As WriteOptions.keep_managers."""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of a deletion."""

    whole: bool = False
    """As WriteOptions.whole, for `admit`."""

    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    """Orphan, Background or Foreground; the registry rejects other values."""
    dry_run: bool = False
    admit: Admit | None = None
