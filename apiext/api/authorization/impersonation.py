"""Impersonation: its modes, and the checks of each mode.

Mirrors apiserver pkg/endpoints/filters/impersonation (mode.go, constrained_impersonation.go).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from apiext.api.authorization.authorizer import Authorize, Decision, ReviewError
from apiext.api.authorization.forbidden import forbidden
from apiext.base.meta import errors, field
from apiext.base.meta.golang import formatting
from apiext.base.meta.names import dns1123_label, dns1123_subdomain, regex_error
from apiext.base.meta.request import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, RequestInfo, UserInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

_GROUP: Final = "authentication.k8s.io"
_NODE: Final = "system:node:"
_NODES: Final = "system:nodes"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
_SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_NODE_KEYS: Final = "authentication.kubernetes.io/associated-node-keys"
_VERB: Final = "impersonate"
_ASSOCIATED: Final = "associated-node"
_LEGACY: Final = "legacy"
_MODES: Final = (_ASSOCIATED, "arbitrary-node", "serviceaccount", "user-info", _LEGACY)
"""In order from the most to the least constrained."""
_MAX_LAST_MODES: Final = 10_000
"""Maximum of users with a cached last mode."""
_WILDCARD_FROM: Final = 4
"""Number of checks of one kind above which a wildcard check comes first."""
_PATH_FORMAT: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH: Final = re.compile(_PATH_FORMAT)
_EXTRA_KEY: Final = field.Path("extra", "key")


class Impersonation:
    """Tries the modes of impersonation: first the requestor's last successful one, then from the most to the least constrained.

    Without `constrained` it uses only the legacy mode, whose permissions apply to every request.
    """

    def __init__(self, authorize: Authorize, *, constrained: bool = True) -> None:
        self._authorize = authorize
        self._modes = _MODES if constrained else (_LEGACY,)
        self._last: OrderedDict[str, str] = OrderedDict()
        """The last mode of a requestor, by name."""

    async def user(self, requestor: UserInfo, wanted: UserInfo, info: RequestInfo) -> tuple[UserInfo, str]:
        """Return the impersonated user, and the verb of the constrained mode that allows it, empty for the legacy mode.

        Raises:
            StatusError: 403, the error of the first applicable mode.
        """
        first: errors.StatusError | None = None
        for mode in self._order(requestor):
            if not _applies(mode, wanted, requestor):
                continue
            try:
                user = await self._impersonated(mode, requestor, wanted, info)
            except errors.StatusError as error:
                first = first or error
            else:
                self._set_last(requestor, mode)
                return user, "" if mode == _LEGACY else f"{_VERB}:{mode}"
        raise first or forbidden(requestor, info, "")

    def _order(self, requestor: UserInfo) -> list[str]:
        last = self._last.get(requestor.name)
        return list(self._modes) if last is None else [last, *(mode for mode in self._modes if mode != last)]

    def _set_last(self, requestor: UserInfo, mode: str) -> None:
        self._last[requestor.name] = mode
        self._last.move_to_end(requestor.name)
        if len(self._last) > _MAX_LAST_MODES:
            self._last.popitem(last=False)

    async def _impersonated(self, mode: str, requestor: UserInfo, wanted: UserInfo, info: RequestInfo) -> UserInfo:
        if mode == _LEGACY:
            return await _Checks(self._authorize, requestor, _VERB, constrained=False).user(wanted)
        if mode == _ASSOCIATED:
            # permissions do not name the node: it only has to be the requestor's own
            requestor = replace(requestor, extra={_NODE_KEYS: tuple(sorted(requestor.extra))})
        checks = _Checks(self._authorize, requestor, f"{_VERB}:{mode}", constrained=True)
        await checks.check(replace(info, verb=f"impersonate-on:{mode}:{info.verb}"))
        return await checks.user(wanted)


@dataclass(frozen=True, slots=True)
class _Checks:
    """The permissions that a requestor needs to impersonate a user with one verb."""

    authorize: Authorize
    requestor: UserInfo
    verb: str
    constrained: bool

    async def user(self, wanted: UserInfo) -> UserInfo:
        groups = await self._name(wanted)
        if wanted.uid:
            await self.check(self._attributes("uids", wanted.uid, group=_GROUP))
        await self._groups(wanted.groups)
        await self._extra(wanted.extra)
        if wanted.name == ANONYMOUS.name:
            groups = _with(groups, UNAUTHENTICATED)
        elif UNAUTHENTICATED not in groups:
            groups = _with(groups, AUTHENTICATED)
        return replace(wanted, groups=groups)

    async def check(self, info: RequestInfo) -> None:
        """Check that the requestor has a permission.

        Raises:
            StatusError: 403, if the requestor does not have it.
        """
        try:
            verdict = await self.authorize(self.requestor, info)
        except ReviewError as error:
            raise forbidden(self.requestor, info, str(error)) from error
        if verdict.decision is not Decision.ALLOW:
            raise forbidden(self.requestor, info, verdict.reason)

    async def _name(self, wanted: UserInfo) -> tuple[str, ...]:
        """Check the user name; return the groups, including implied ones. Raises StatusError (403)."""
        info, groups = self._attributes("users", wanted.name), wanted.groups
        node, account = _node_name(wanted.name), _service_account(wanted.name)
        if node and self.constrained:
            info.resource, info.name = "nodes", "*" if self.verb.endswith(_ASSOCIATED) else node
            self._reject_groups(info, "a node", groups)
            groups = (_NODES,)
        if account is not None:
            info.resource, (info.namespace, info.name) = "serviceaccounts", account
            if self.constrained:
                self._reject_groups(info, "a service account", groups)
            groups = groups or (_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{info.namespace}")
        await self.check(info)
        return groups

    def _reject_groups(self, info: RequestInfo, what: str, groups: tuple[str, ...]) -> None:
        if groups:
            listed = " ".join(map(formatting.quote, groups))
            raise forbidden(self.requestor, info, f"when impersonating {what}, cannot impersonate groups [{listed}]")

    async def _groups(self, groups: tuple[str, ...]) -> None:
        if self.constrained and "" in groups:
            raise forbidden(self.requestor, self._attributes("groups"), "impersonating the empty string group is not allowed")
        if self.constrained and MASTERS in groups:
            raise forbidden(self.requestor, self._attributes("groups", MASTERS), "impersonating the system:masters group is not allowed")
        if await self._has_wildcard(self._attributes("groups", "*"), len(groups)):
            return
        for group in groups:
            await self.check(self._attributes("groups", group))

    async def _extra(self, extra: Mapping[str, tuple[str, ...]]) -> None:
        if self.constrained and (problem := _extra_problem(extra)):
            raise forbidden(self.requestor, self._attributes("userextras", group=_GROUP), problem)
        count = max(len(extra), sum(map(len, extra.values())))
        if await self._has_wildcard(self._attributes("userextras", "*", "*", group=_GROUP), count):
            return
        for key, texts in extra.items():
            for text in texts:
                await self.check(self._attributes("userextras", text, key, group=_GROUP))

    async def _has_wildcard(self, info: RequestInfo, count: int) -> bool:
        """Return whether the wildcard check passes: it replaces `count` single checks."""
        if not self.constrained or count < _WILDCARD_FROM:
            return False
        try:
            await self.check(info)
        except errors.StatusError:
            return False
        return True

    def _attributes(self, resource: str, name: str = "", subresource: str = "", *, group: str = "") -> RequestInfo:
        if self.constrained:
            group = _GROUP
        return RequestInfo(
            is_resource=True, verb=self.verb, group=group, version="v1", resource=resource, subresource=subresource, name=name
        )


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return the reason why extra may not be impersonated, empty if it may."""
    for key, texts in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if problems := _extra_key_problems(key):
            return f"impersonating an invalid key in extra is not allowed: {field.aggregate(problems)}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {formatting.quote(key)}"
        if not texts:
            return "impersonating empty values in extra is not allowed"
        if "" in texts:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _extra_key_problems(key: str) -> list[field.FieldError]:
    host, _, path = key.partition("/")
    if not host or not path:
        return [field.invalid(_EXTRA_KEY, key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    problems = [field.invalid(_EXTRA_KEY, host, wrong) for wrong in dns1123_subdomain(host)]
    if not _PATH.fullmatch(path):
        problems.append(field.invalid(_EXTRA_KEY, path, regex_error("Invalid path", _PATH_FORMAT)))
    return problems


def _is_bare(user: UserInfo) -> bool:
    return not (user.uid or user.groups or user.extra)


def _node_name(name: str) -> str:
    """Return the node of a user name, empty if the user is not a node."""
    node = name.removeprefix(_NODE)
    return node if node != name and not dns1123_subdomain(node) else ""


def _service_account(name: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account from its user name, None for other users."""
    rest = name.removeprefix(_SERVICE_ACCOUNT)
    namespace, colon, account = rest.partition(":")
    if rest == name or not colon or ":" in account or dns1123_label(namespace) or dns1123_subdomain(account):
        return None
    return namespace, account


def _with(groups: tuple[str, ...], group: str) -> tuple[str, ...]:
    return groups if group in groups else (*groups, group)


def _applies(mode: str, wanted: UserInfo, requestor: UserInfo) -> bool:
    """Return whether a mode applies to the wanted user."""
    node, account = _node_name(wanted.name), _service_account(wanted.name)
    match mode:
        case "associated-node":
            is_own = requestor.extra.get(_NODE_NAME, ()) == (node,) and _service_account(requestor.name) is not None
            return _is_bare(wanted) and bool(node) and is_own
        case "arbitrary-node":
            return _is_bare(wanted) and bool(node)
        case "serviceaccount":
            return _is_bare(wanted) and account is not None
        case "user-info":
            return not node and account is None
        case _:
            return True
