"""What a request is about, as the filters worked it out and all rooms below read it.

Mirrors apiserver pkg/endpoints/request (RequestInfo) and pkg/authentication/user (Info).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Who sent the request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Peer:
    """Who a connection's client certificate stands for, found out once per connection."""

    user: UserInfo | None = None
    """The user that the certificate names."""
    is_front_proxy: bool = False
    """Whether its headers may say who the user is."""
    ends: float = math.inf
    """When the certificate ends, in seconds since the epoch."""
    is_refused: bool = False
    """Whether the certificate is none of those that somebody who is let in may have: then its holder is not anonymous, either."""


@dataclass(slots=True)
class RequestInfo:
    """The request's path taken apart: verb and resource for API paths, verb and path for all others.

    Requests for the same path share it: never modify it.
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
    """The path from the resource on."""
    field_selector: str = ""
    label_selector: str = ""
    long_running: bool = False
    """Whether neither timeouts nor limits of concurrency hold for the request."""
