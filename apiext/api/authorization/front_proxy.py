"""Requests that a host has authorized before its front proxy passes them on, for authorization mode FrontProxy.

kube-apiserver authorizes a request under `/apis/<group>/<version>`, then its aggregator proxies this request and no other one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from apiext.api.authorization.authorizer import Decision, Verdict

if TYPE_CHECKING:
    from apiext.base.meta.request import RequestInfo

AUTHORIZED_BY_HOST: Final = Verdict(Decision.ALLOW, "FrontProxy: authorized by the host")
HEALTH_CHECK: Final = "front-proxy"
"""Name of the readiness check of a server in mode FrontProxy; its remark is the reason why the mode is unsafe."""
_PATH: Final = re.compile(r"/apis/([a-z0-9][a-z0-9.-]*)/[a-z0-9]+((?:/[a-zA-Z0-9][a-zA-Z0-9.-]*)*)", re.ASCII)
"""The paths that every server parses alike, with the group and the part behind the version."""
_VERBS: Final = frozenset({"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"})


def authorized_by_host(serves: Callable[[str], bool]) -> Callable[[RequestInfo], bool]:
    """Return what decides whether the host has authorized a request that its front proxy passes on.

    `serves` says whether this server serves a group for its host. Paths, verbs and groups that a host does not proxy, or might read
    in another way, are not authorized. The caller must know that the request came from the front proxy.
    """

    def is_authorized(info: RequestInfo) -> bool:
        match = _PATH.fullmatch(info.path)
        if match is None or not serves(match[1]):
            return False
        return info.verb in _VERBS if info.is_resource else info.verb == "get" and not match[2]

    return is_authorized


def unsafe_front_proxies(names: Collection[str] | None) -> str:
    """Return why a server may not take requests of its front proxies as authorized, empty if it may. None stands for no front proxies.

    `names` are the common names of front proxies. One that only authenticates must not have a name or, without names, a certificate.
    """
    if names is None:
        return "no front proxy is configured"
    if not names:
        return "no names of front proxies are required: every certificate of their authority is a front proxy's"
    if len(names) > 1:
        return f"{len(names)} names of front proxies are allowed, not that of the host's aggregator alone"
    return ""
