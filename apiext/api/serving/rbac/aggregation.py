"""Aggregated ClusterRoles: their rules are those of the ClusterRoles that their selectors select.

In a cluster, kube-controller-manager does this (pkg/controller/clusterroleaggregation); a standalone server has none.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.api.authorization.rbac.policy import Binding, RoleRef, Subject
from apiext.api.authorization.rbac.rules import read_rules
from apiext.api.endpoints.handlers.patch import patch_stored
from apiext.api.endpoints.parameters.options import WriteQuery
from apiext.api.endpoints.scopes.dialect import APPLY_PATCH
from apiext.api.endpoints.scopes.write_call import SERVER_MASTER, WriteCall
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.log import get_logger
from apiext.base.meta.objectmeta.label_selector import parse_selector
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks

if TYPE_CHECKING:
    from apiext.api.authorization.rbac.policy import RolePolicy
    from apiext.api.authorization.rbac.rules import RoleRule
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.selectors import LabelSelector

_LOG: Final = get_logger(__name__)
_MANAGER: Final = "clusterrole-aggregation-controller"
_PAUSES: Final = (0.05, 5.0)
"""Seconds before the first retry, and the longest before later ones."""


@dataclass(frozen=True, slots=True)
class _Role:
    labels: dict[str, str]
    rules: tuple[RoleRule, ...]
    selectors: tuple[LabelSelector, ...]
    """Empty for a role without aggregationRule."""


class ClusterRoleAggregation:
    """Keeps the rules of aggregated ClusterRoles up to date. It sees all ClusterRoles by `put` and `remove`."""

    def __init__(self, scope: Scope) -> None:
        """Create the controller. `scope` is that of ClusterRoles."""
        self._scope = scope
        self._roles: dict[str, _Role] = {}
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def put(self, role: Object) -> None:
        """Take a new state of a ClusterRole."""
        metadata = role["metadata"]
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        self._roles[metadata["name"]] = _Role(
            metadata.get("labels") or {}, read_rules(role.get("rules")), tuple(map(parse_selector, selectors))
        )
        self._changed.set()

    def remove(self, name: str) -> None:
        """Drop a deleted ClusterRole."""
        self._roles.pop(name, None)
        self._changed.set()

    async def start(self) -> None:
        """Aggregate once, then after each change.

        Raises:
            StatusError: a ClusterRole cannot be written.
        """
        await self._sync()
        self._task = asyncio.create_task(self._run(), name="clusterrole-aggregation")

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            await end_tasks(self._task)

    async def _run(self) -> None:
        backoff = Backoff(*_PAUSES)
        while True:
            await self._changed.wait()
            try:
                await self._sync()
                backoff.reset()
            except Exception as error:  # noqa: BLE001 -- the next change or retry repairs what failed
                _LOG.warning("aggregation of ClusterRoles failed, retrying", error=str(error), retry_after=backoff.next)
                self._changed.set()
                await backoff.pause()

    async def _sync(self) -> None:
        """Write the rules that are not up to date, until none is: aggregated roles may select each other."""
        while self._changed.is_set():
            self._changed.clear()
            for name, role in list(self._roles.items()):
                if role.selectors and (rules := self._aggregated(name, role)) != list(role.rules):
                    await self._write(name, rules)

    def _aggregated(self, name: str, role: _Role) -> list[RoleRule]:
        found: dict[RoleRule, None] = {}
        for selector in role.selectors:
            for other in sorted(self._roles):
                if other != name and selector.matches(self._roles[other].labels):
                    found |= dict.fromkeys(self._roles[other].rules)
        return list(found)

    async def _write(self, name: str, rules: list[RoleRule]) -> None:
        kind = self._scope.kind
        body = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {"name": name}}
        data = json_codec.dumps({**body, "rules": [rule.as_json() for rule in rules]})
        call = WriteCall(SERVER_MASTER, "", "", name, WriteQuery(force=True), _MANAGER, APPLY_PATCH, data)
        try:
            await patch_stored(self._scope, call)
        except errors.StatusError as error:
            if error.code != 404:
                raise


def put(policy: RolePolicy, resource: str, obj: Object) -> None:
    """Put a role or binding."""
    metadata = obj["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if resource.endswith("roles"):
        policy.put_role(namespace, name, read_rules(obj.get("rules")))
        return
    reference = obj["roleRef"]
    subjects = tuple(Subject(each["kind"], each["name"], each.get("namespace", "")) for each in obj.get("subjects") or ())
    policy.put_binding(Binding(namespace, name, RoleRef(reference["kind"], reference["name"]), subjects))


def remove(policy: RolePolicy, resource: str, namespace: str, name: str) -> None:
    """Remove a role or binding."""
    if resource.endswith("roles"):
        policy.remove_role(namespace, name)
    else:
        policy.remove_binding(namespace, name)
