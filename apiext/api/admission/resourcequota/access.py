"""Reads the quotas of the host (from an informer, or live before its first list), and writes their usage.

Mirrors apiserver pkg/admission/plugin/resourcequota/resource_access.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from apiext.api.admission.host_lookup import HostRequest, ask_for
from apiext.api.admission.resourcequota.quota import Quota, read_quota
from apiext.base.meta import errors
from apiext.base.webhook.response_cache import ResponseCache

COLLECTION: Final = "/api/v1/resourcequotas"
_LIVE_TTL: Final = 30.0
"""Seconds for which live lookups are cached."""
_MAX_ENTRIES: Final = 100
"""Cached lookups."""


class QuotaAccess:
    """Quotas by namespace; a Follower of base/webhook/reflector.py."""

    type_name: Final = "*v1.ResourceQuota"

    def __init__(self, ask: HostRequest) -> None:
        self._ask = ask
        self._listed: dict[str, dict[str, Quota]] = {}
        self._written: dict[tuple[str, str], Quota] = {}
        """Quotas as returned by writes, until the informer has them (upstream updatedQuotas)."""
        self._live: ResponseCache[tuple[Quota, ...]] = ResponseCache(max_entries=_MAX_ENTRIES)
        self.synced = False
        """Whether the first list is complete."""

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        """Replace all quotas."""
        self._listed = {}
        for found in objects:
            self.changed(found)
        self.synced = True

    def changed(self, found: dict[str, Any]) -> None:
        """Add or update a quota."""
        quota = read_quota(found)
        self._listed.setdefault(quota.namespace, {})[quota.name] = quota
        written = self._written.get((quota.namespace, quota.name))
        if written is not None and written.revision <= quota.revision:
            del self._written[quota.namespace, quota.name]

    def deleted(self, found: dict[str, Any]) -> None:
        """Remove a quota."""
        quota = read_quota(found)
        self._forget(quota.namespace, quota.name)

    def unlimited(self, namespace: str, counted: str) -> bool:
        """Return whether, by the cache, no quota of a namespace limits this count."""
        quotas = self._listed.get(namespace)
        if not quotas:
            return self.synced
        return not any(self._latest(quota).limits(counted) for quota in quotas.values())

    async def quotas(self, namespace: str) -> tuple[Quota, ...]:
        """Return the quotas of a namespace, sorted by name.

        Raises:
            StatusError: a live lookup failed.
        """
        found = tuple(self._listed.get(namespace, {}).values())
        if not found and not self.synced:
            found = await self._live.get(namespace.encode(), lambda: self._fetch(namespace))
        return tuple(self._latest(quota) for quota in sorted(found, key=lambda quota: quota.name))

    async def write(self, quota: Quota) -> None:
        """Write the usage of a quota to the host.

        Raises:
            StatusError: the host refused it, with 409 if the quota has changed.
        """
        answer = await ask_for(self._ask, f"{_path(quota)}/status", method="PUT", body=quota.to_wire())
        self._keep_written(read_quota(answer))

    async def refresh(self, quota: Quota) -> None:
        """Read a quota live after a write failed.

        Raises:
            StatusError: the host refused it.
        """
        try:
            self._keep_written(read_quota(await ask_for(self._ask, _path(quota))))
        except errors.StatusError as error:
            if error.code != 404:
                raise
            self._forget(quota.namespace, quota.name)

    def _latest(self, quota: Quota) -> Quota:
        written = self._written.get((quota.namespace, quota.name))
        return quota if written is None or written.revision <= quota.revision else written

    def _keep_written(self, quota: Quota) -> None:
        listed = self._listed.get(quota.namespace, {}).get(quota.name)
        if listed is None or listed.revision < quota.revision:
            self._written[quota.namespace, quota.name] = quota

    def _forget(self, namespace: str, name: str) -> None:
        self._written.pop((namespace, name), None)
        quotas = self._listed.get(namespace, {})
        quotas.pop(name, None)
        if not quotas:
            self._listed.pop(namespace, None)

    async def _fetch(self, namespace: str) -> tuple[tuple[Quota, ...], float]:
        answer = await ask_for(self._ask, _collection(namespace))
        return tuple(map(read_quota, answer.get("items") or ())), _LIVE_TTL


def _collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/resourcequotas"


def _path(quota: Quota) -> str:
    return f"{_collection(quota.namespace)}/{quote(quota.name, safe='')}"
