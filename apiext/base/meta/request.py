"""Attributes of a request, set by the filters and read by all other rooms, and well-known users and groups.

Mirrors apiserver pkg/endpoints/request (RequestInfo) and pkg/authentication/user.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MASTERS: Final = "system:masters"
"""Group that may do everything."""
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
READ_ONLY: Final = "readOnly"
MUTATING: Final = "mutating"
READ_ONLY_VERBS: Final = frozenset({"get", "list", "watch"})
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """The user that sent the request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS: Final = UserInfo(name="system:anonymous", groups=(UNAUTHENTICATED,))
"""User of requests without credentials."""

_SERVICE_ACCOUNTS: Final = "system:serviceaccounts"


def controller_user(name: str) -> UserInfo:
    """Return the user of a controller, as admission sees it: in a cluster, its ServiceAccount in kube-system."""
    namespace = "kube-system"
    groups = (_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return UserInfo(f"system:serviceaccount:{namespace}:{name}", groups)


@dataclass(frozen=True, slots=True)
class Peer:
    """The identity in a connection's client certificate, determined once a connection."""

    user: UserInfo | None = None
    """User that the certificate names."""
    is_front_proxy: bool = False
    """Whether the certificate is a front proxy's, whose X-Remote headers name the user."""
    ends: float = math.inf
    """Expiry of the certificate in seconds since the epoch."""
    is_refused: bool = False
    """Whether the certificate is invalid for every purpose. Its requests are rejected, not anonymous."""


class AdmissionOperation(StrEnum):
    """Operations of admission (apiserver pkg/admission, Operation)."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


DISCOVERY: Final = ("api", "apis")
"""The first segments of paths of resources and discovery."""


@dataclass(slots=True)
class RequestInfo:
    """The parsed path of a request: verb and resource for API paths, verb and path for others.

    Requests for the same path share it: only the last two fields may be modified.
    """

    is_resource: bool = False
    path: str = ""
    verb: str = ""
    """get, list, watch, create, update, patch, delete, deletecollection; the lower-case HTTP method for other paths."""
    api_prefix: str = ""
    """api or apis."""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    """Path segments from the resource on."""
    field_selector: str = ""
    label_selector: str = ""
    long_running: bool = False
    """Whether the request is exempt from timeouts and concurrency limits."""
    labels: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    """Labels of the metrics once known, if they depend on nothing else (api/filters/metrics.py)."""
    audit_members: tuple[str, str, str] | None = field(default=None, compare=False, repr=False)
    """The last URI, and JSON of its audit events (api/audit/event.py)."""

    @property
    def is_discovery(self) -> bool:
        """Return whether the path is that of a discovery document: of no resource, and below /api or /apis."""
        return not self.is_resource and self.path.partition("/")[2].partition("/")[0] in DISCOVERY

    @property
    def kind(self) -> str:
        """Return the kind of the request in limits and metrics: READ_ONLY or MUTATING."""
        return READ_ONLY if self.verb in READ_ONLY_VERBS else MUTATING


def authenticated(user: UserInfo) -> UserInfo:
    """Return the user with the group of authenticated users added; return the anonymous user unchanged."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))
