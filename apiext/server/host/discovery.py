"""The resources that the host serves (client-go restmapper, as far as admission needs it)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from apiext.api.admission.host_lookup import HostRequest, read_answer
from apiext.base.meta import errors
from apiext.base.webhook.client import WebhookError
from apiext.base.webhook.response_cache import ResponseCache

_TTL: Final = 1.0
"""Seconds for which answers are cached: a new definition's kind is found as soon as upstream refreshes its policies."""
_MAX_ENTRIES: Final = 100


@dataclass(frozen=True, slots=True)
class HostResource:
    """A resource of the host."""

    api: str
    """The path of its group and version."""
    plural: str
    namespaced: bool

    @property
    def collection(self) -> str:
        """The path of its objects in all namespaces."""
        return f"{self.api}/{self.plural}"

    def path(self, namespace: str, name: str) -> str:
        """Return the path of an object."""
        parent = f"{self.api}/namespaces/{quote(namespace, safe='')}" if self.namespaced else self.api
        return f"{parent}/{self.plural}/{quote(name, safe='')}"


class HostDiscovery:
    """Asks the host for the resources of a group and version."""

    def __init__(self, ask: HostRequest) -> None:
        self._ask = ask
        self._answers: ResponseCache[Mapping[str, HostResource]] = ResponseCache(max_entries=_MAX_ENTRIES)

    async def of_kind(self, api_version: str, kind: str) -> HostResource | None:
        """Return the resource of a kind, None for an unknown one. Raises StatusError."""
        return (await self._served(api_version)).get(kind)

    async def named(self, api_version: str, plural: str) -> HostResource | None:
        """Return the resource with a name, None if the host does not serve it. Raises StatusError."""
        return next((one for one in (await self._served(api_version)).values() if one.plural == plural), None)

    async def _served(self, api_version: str) -> Mapping[str, HostResource]:
        """Return the resources by kind; none for an unknown group or version."""
        return await self._answers.get(api_version.encode(), lambda: self._fetch(api_version))

    async def _fetch(self, api_version: str) -> tuple[Mapping[str, HostResource], float]:
        parts = [quote(part, safe="") for part in api_version.split("/", 1)]
        path = f"/{'/'.join(['apis' if len(parts) > 1 else 'api', *parts])}"
        try:
            code, data = await self._ask(path)
        except WebhookError as error:
            raise errors.unknown(str(error)) from error
        # the text of this answer is no Status where the host has no version of the group
        known = {} if code == HTTPStatus.NOT_FOUND else _resources(path, read_answer(code, data))
        return known, _TTL


def _resources(path: str, answer: Mapping[str, Any]) -> Mapping[str, HostResource]:
    """Return the resources of an APIResourceList by kind, without subresources."""
    listed = [one for one in answer.get("resources") or () if "/" not in one["name"]]
    return {one["kind"]: HostResource(path, one["name"], bool(one["namespaced"])) for one in listed}
