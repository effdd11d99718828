"""Who may act as whom: each way of impersonation with the checks that it takes.

Mirrors apiserver pkg/endpoints/filters/impersonation (mode.go, constrained_impersonation.go).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from apiext.authorization.authorizer import Decision, ReviewError, Verdict
from apiext.authorization.forbidden import forbidden
from apiext.authorization.impersonation_extra import wrong_extra
from apiext.meta import errors, go_format
from apiext.meta.names import dns1123_label, dns1123_subdomain
from apiext.meta.request import RequestInfo, UserInfo
from apiext.meta.user import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED

if TYPE_CHECKING:
    from collections.abc import Mapping

Decide = Callable[[UserInfo, RequestInfo], Awaitable[Verdict]]
"""Decides whether a user may do something. Raises ReviewError."""

_GROUP: Final = "authentication.k8s.io"
_NODE: Final = "system:node:"
_NODES: Final = "system:nodes"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
_SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_NODE_KEYS: Final = "authentication.kubernetes.io/associated-node-keys"
_ASSOCIATED: Final = "associated-node"
_LEGACY: Final = "legacy"
_REMEMBERED: Final = 10_000
_MANY: Final = 4
"""Checks of one kind from which on one for all of them is tried first."""


class Impersonation:
    """Finds a way in which a user may act as another one: the one that it last used, then from the most to the least constrained.

    Without `constrained` modes whoever may act as somebody may do so for every request.
    """

    def __init__(self, decide: Decide, *, constrained: bool = True) -> None:
        self._decide = decide
        self._modes = tuple(_MODES) if constrained else (_LEGACY,)
        self._last: OrderedDict[str, str] = OrderedDict()
        """The mode that a user last used, by name."""

    async def user(self, requestor: UserInfo, wanted: UserInfo, info: RequestInfo) -> UserInfo:
        """The user that the request counts as from now on. Raises StatusError: 403 with the first refusal."""
        first: errors.StatusError | None = None
        for mode in self._order(requestor):
            if not _MODES[mode](wanted, requestor):
                continue
            try:
                user = await self._checked(mode, requestor, wanted, info)
            except errors.StatusError as refusal:
                first = first or refusal
            else:
                self._remember(requestor, mode)
                return user
        raise first or forbidden(requestor, info, "")

    def _order(self, requestor: UserInfo) -> list[str]:
        last = self._last.get(requestor.name)
        return list(self._modes) if last is None else [last, *(mode for mode in self._modes if mode != last)]

    def _remember(self, requestor: UserInfo, mode: str) -> None:
        self._last[requestor.name] = mode
        self._last.move_to_end(requestor.name)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)

    async def _checked(self, mode: str, requestor: UserInfo, wanted: UserInfo, info: RequestInfo) -> UserInfo:
        if mode == _LEGACY:
            return await _Checks(self._decide, requestor, "impersonate", constrained=False).user(wanted)
        return await self._constrained(mode, requestor, wanted, info)

    async def _constrained(self, mode: str, requestor: UserInfo, wanted: UserInfo, info: RequestInfo) -> UserInfo:
        if mode == _ASSOCIATED:
            # which node it is does not count, only that it is the requestor's own
            requestor = replace(requestor, extra={_NODE_KEYS: tuple(sorted(requestor.extra))})
        checks = _Checks(self._decide, requestor, f"impersonate:{mode}", constrained=True)
        await checks.check(replace(info, verb=f"impersonate-on:{mode}:{info.verb}"))
        return await checks.user(wanted)


@dataclass(frozen=True, slots=True)
class _Checks:
    """What a requestor has to be allowed to be somebody else with one verb."""

    decide: Decide
    requestor: UserInfo
    verb: str
    constrained: bool

    async def user(self, wanted: UserInfo) -> UserInfo:
        groups = await self._name(wanted)
        if wanted.uid:
            await self.check(self._about("uids", wanted.uid, group=_GROUP))
        await self._groups(wanted.groups)
        await self._extra(wanted.extra)
        if wanted.name == ANONYMOUS.name:
            groups = _with(groups, UNAUTHENTICATED)
        elif UNAUTHENTICATED not in groups:
            groups = _with(groups, AUTHENTICATED)
        return replace(wanted, groups=groups)

    async def check(self, info: RequestInfo) -> None:
        """Raises StatusError: 403."""
        try:
            verdict = await self.decide(self.requestor, info)
        except ReviewError as error:
            raise forbidden(self.requestor, info, str(error)) from error
        if verdict.decision is not Decision.ALLOW:
            raise forbidden(self.requestor, info, verdict.reason)

    async def _name(self, wanted: UserInfo) -> tuple[str, ...]:
        """Check the name; the groups that come with it."""
        info, groups = self._about("users", wanted.name), wanted.groups
        node, account = _node_name(wanted.name), _service_account(wanted.name)
        if node and self.constrained:
            info.resource, info.name = "nodes", "*" if self.verb.endswith(_ASSOCIATED) else node
            self._refuse_groups(info, "a node", groups)
            groups = (_NODES,)
        if account is not None:
            info.resource, (info.namespace, info.name) = "serviceaccounts", account
            if self.constrained:
                self._refuse_groups(info, "a service account", groups)
            groups = groups or (_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{info.namespace}")
        await self.check(info)
        return groups

    def _refuse_groups(self, info: RequestInfo, what: str, groups: tuple[str, ...]) -> None:
        if groups:
            listed = " ".join(map(go_format.quote, groups))
            raise forbidden(self.requestor, info, f"when impersonating {what}, cannot impersonate groups [{listed}]")

    async def _groups(self, groups: tuple[str, ...]) -> None:
        if self.constrained and "" in groups:
            raise forbidden(self.requestor, self._about("groups"), "impersonating the empty string group is not allowed")
        if self.constrained and MASTERS in groups:
            raise forbidden(self.requestor, self._about("groups", MASTERS), "impersonating the system:masters group is not allowed")
        if await self._may_all(self._about("groups", "*"), len(groups)):
            return
        for group in groups:
            await self.check(self._about("groups", group))

    async def _extra(self, extra: Mapping[str, tuple[str, ...]]) -> None:
        if self.constrained and (wrong := wrong_extra(extra)):
            raise forbidden(self.requestor, self._about("userextras", group=_GROUP), wrong)
        count = max(len(extra), sum(map(len, extra.values())))
        if await self._may_all(self._about("userextras", "*", "*", group=_GROUP), count):
            return
        for key, texts in extra.items():
            for text in texts:
                await self.check(self._about("userextras", text, key, group=_GROUP))

    async def _may_all(self, info: RequestInfo, count: int) -> bool:
        """Whether one check stands for many."""
        if not self.constrained or count < _MANY:
            return False
        try:
            await self.check(info)
        except errors.StatusError:
            return False
        return True

    def _about(self, resource: str, name: str = "", subresource: str = "", *, group: str = "") -> RequestInfo:
        if self.constrained:
            group = _GROUP
        return RequestInfo(
            is_resource=True, verb=self.verb, group=group, version="v1", resource=resource, subresource=subresource, name=name
        )


def _is_bare(user: UserInfo) -> bool:
    return not (user.uid or user.groups or user.extra)


def _node_name(name: str) -> str:
    """The node that a user name stands for, empty where it stands for none."""
    node = name.removeprefix(_NODE)
    return node if node != name and not dns1123_subdomain(node) else ""


def _service_account(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user name stands for."""
    rest = name.removeprefix(_SERVICE_ACCOUNT)
    namespace, colon, account = rest.partition(":")
    if rest == name or not colon or ":" in account or dns1123_label(namespace) or dns1123_subdomain(account):
        return None
    return namespace, account


def _with(groups: tuple[str, ...], group: str) -> tuple[str, ...]:
    return groups if group in groups else (*groups, group)


def _fits_associated(wanted: UserInfo, requestor: UserInfo) -> bool:
    node = _node_name(wanted.name)
    own = requestor.extra.get(_NODE_NAME, ())
    return _is_bare(wanted) and bool(node) and _service_account(requestor.name) is not None and own == (node,)


def _fits_node(wanted: UserInfo, _requestor: UserInfo) -> bool:
    return _is_bare(wanted) and bool(_node_name(wanted.name))


def _fits_account(wanted: UserInfo, _requestor: UserInfo) -> bool:
    return _is_bare(wanted) and _service_account(wanted.name) is not None


def _fits_person(wanted: UserInfo, _requestor: UserInfo) -> bool:
    return not _node_name(wanted.name) and _service_account(wanted.name) is None


_MODES: Final[Mapping[str, Callable[[UserInfo, UserInfo], bool]]] = {
    _ASSOCIATED: _fits_associated,
    "arbitrary-node": _fits_node,
    "serviceaccount": _fits_account,
    "user-info": _fits_person,
    _LEGACY: lambda _wanted, _requestor: True,
}
