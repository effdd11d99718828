"""The quotas of the host: followed, looked up while there is nothing to follow yet, and written.

Mirrors apiserver pkg/admission/plugin/resourcequota/resource_access.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from apiext.admission.host_lookup import Ask, ask_for
from apiext.admission.resourcequota.quota import Quota, read_quota
from apiext.meta import errors
from apiext.webhook.response_cache import Answers

COLLECTION: Final = "/api/v1/resourcequotas"
_LOOKED_UP: Final = 30.0
"""Seconds for which is kept what was looked up."""
_MOST: Final = 100
_NOT_FOUND: Final = 404


class QuotaAccess:
    """Quotas by namespace; it is told of them as a follower (webhook/reflector.py)."""

    type_name: Final = "*v1.ResourceQuota"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._followed: dict[str, dict[str, Quota]] = {}
        self._written: dict[tuple[str, str], Quota] = {}
        """What writes were answered with, until it is heard of."""
        self._looked_up: Answers[tuple[Quota, ...]] = Answers(most=_MOST)
        self.synced = False
        """Whether they have been listed."""

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        """These are all."""
        self._followed = {}
        for found in objects:
            self.changed(found)
        self.synced = True

    def changed(self, found: dict[str, Any]) -> None:
        """One is new, or not what it was."""
        quota = read_quota(found)
        self._followed.setdefault(quota.namespace, {})[quota.name] = quota
        written = self._written.get((quota.namespace, quota.name))
        if written is not None and written.revision <= quota.revision:
            del self._written[quota.namespace, quota.name]

    def deleted(self, found: dict[str, Any]) -> None:
        """One has gone."""
        quota = read_quota(found)
        self._forget(quota.namespace, quota.name)

    def unlimited(self, namespace: str, counted: str) -> bool:
        """Whether it is known at once that no quota of a namespace limits what is counted under this name."""
        quotas = self._followed.get(namespace)
        if not quotas:
            return self.synced
        return not any(self._latest(quota).limits(counted) for quota in quotas.values())

    async def quotas(self, namespace: str) -> tuple[Quota, ...]:
        """The quotas of a namespace, by name. Raises StatusError where they have to be looked up and the host does not say."""
        found = tuple(self._followed.get(namespace, {}).values())
        if not found and not self.synced:
            found = await self._looked_up.get(namespace.encode(), lambda: self._look_up(namespace))
        return tuple(self._latest(quota) for quota in sorted(found, key=lambda quota: quota.name))

    async def write(self, quota: Quota) -> None:
        """Have the host know what is used. Raises StatusError: 409 where the quota is not what it was."""
        answer = await ask_for(self._ask, f"{_path(quota)}/status", method="PUT", body=quota.to_wire())
        self._note(read_quota(answer))

    async def refresh(self, quota: Quota) -> None:
        """Ask for a quota again that could not be written. Raises StatusError."""
        try:
            self._note(read_quota(await ask_for(self._ask, _path(quota))))
        except errors.StatusError as error:
            if error.code != _NOT_FOUND:
                raise
            self._forget(quota.namespace, quota.name)

    def _latest(self, quota: Quota) -> Quota:
        written = self._written.get((quota.namespace, quota.name))
        return quota if written is None or written.revision <= quota.revision else written

    def _note(self, quota: Quota) -> None:
        followed = self._followed.get(quota.namespace, {}).get(quota.name)
        if followed is None or followed.revision < quota.revision:
            self._written[quota.namespace, quota.name] = quota

    def _forget(self, namespace: str, name: str) -> None:
        self._written.pop((namespace, name), None)
        quotas = self._followed.get(namespace, {})
        quotas.pop(name, None)
        if not quotas:
            self._followed.pop(namespace, None)

    async def _look_up(self, namespace: str) -> tuple[tuple[Quota, ...], float]:
        answer = await ask_for(self._ask, _collection(namespace))
        return tuple(map(read_quota, answer.get("items") or ())), _LOOKED_UP


def _collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/resourcequotas"


def _path(quota: Quota) -> str:
    return f"{_collection(quota.namespace)}/{quote(quota.name, safe='')}"
