"""Connection to a cluster by the rules of kubectl, for reading only."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding import json_codec
from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.base.webhook.clientcmd import kubeconfig, service_account
from apiext.base.webhook.pager import PAGE_SIZE, Pager, PageSize
from apiext.tools.releases.interface import SourceError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
    from apiext.base.webhook.pager import Json, Page

_TIMEOUT_SECONDS: Final = 60.0
PAUSES_SECONDS: Final = (1.0, 2.0, 4.0)
"""Pauses before further attempts after an answer that asks for it."""
_DEFAULT: Final = "~/.kube/config"
_PAGES: Final = PageSize(first=PAGE_SIZE // 5, max=PAGE_SIZE, target_bytes=8 << 20)
"""The first page is small: its objects show how many fit into the memory for a page."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The cluster of the flags --kubeconfig and --context; both empty for the default of kubectl."""

    kubeconfig: str = ""
    context: str = ""

    def connect(self) -> ClusterConnection:
        """Return a connection, which is opened by its first request.

        Raises:
            SourceError: there is no such kubeconfig or context.
        """
        listed = [path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
        paths = [Path(path).expanduser() for path in ([self.kubeconfig] if self.kubeconfig else listed or [_DEFAULT])]
        try:
            if service_account.in_cluster() and not self.context and not any(path.exists() for path in paths) and not self.kubeconfig:
                return ClusterConnection("of this pod", service_account.load())
            return ClusterConnection(*kubeconfig.load_merged(paths, self.context))
        except kubeconfig.KubeconfigError as error:
            raise SourceError(f"no cluster: {error}") from error


class ClusterConnection:
    """Reads objects and lists of a cluster.

    Raises:
        SourceError: from every method, if the cluster does not answer, or refuses.
    """

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self.origin = f"cluster {name}"
        self._client = WebhookClient(endpoint, timeout=_TIMEOUT_SECONDS, backoff=())

    async def get(self, path: str) -> Json | None:
        """Return the JSON object at a path, None if there is none."""
        code, answer, _ = await self._ask(path)
        return None if code == HTTPStatus.NOT_FOUND else self._checked(path, code, answer)

    async def find(self, path: str) -> Json | None:
        """Return the JSON object at a path; None if the cluster does not give it, for whatever reason."""
        try:
            code, answer, _ = await self._ask(path)
        except SourceError:
            return None
        return answer if code == HTTPStatus.OK else None

    async def pages(self, collection: str, *, must_exist: bool = False) -> AsyncGenerator[Page]:
        """Yield the pages of a list, at one revision unless the cluster compacts it meanwhile.

        End without an error if there is no such resource, also after some pages, unless it `must_exist`.
        """
        try:
            async for page in Pager(self._fetch, size=_PAGES, continue_expired=True).pages(collection):
                yield page
        except _MissingError as error:
            if must_exist:
                raise SourceError(f"{self.origin} does not serve {collection}") from error
        except WebhookError as error:
            raise SourceError(f"{self.origin}: {error}") from error

    async def count(self, collection: str) -> int | None:
        """Return the number of objects of a list; 0 if there is no such resource, None if the cluster does not count them."""
        answer = await self.get(f"{collection}?limit=1")
        if answer is None:
            return 0
        items, metadata = answer.get("items") or [], answer.get("metadata") or {}
        rest = metadata.get("remainingItemCount")
        return None if rest is None and metadata.get("continue") else len(items) + (rest or 0)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _fetch(self, path: str) -> tuple[Json, int]:
        code, answer, size = await self._ask(path)
        if code == HTTPStatus.NOT_FOUND:
            raise _MissingError
        if code == HTTPStatus.GONE:
            return answer, size
        return self._checked(path, code, answer), size

    async def _ask(self, path: str) -> tuple[int, Json, int]:
        """Return code, content and size of an answer. Try again after one that asks for it, or without one."""
        for pause in (*PAUSES_SECONDS, 0.0):
            try:
                code, data = await self._client.ask(path)
            except WebhookError as error:
                if pause and error.again:
                    await asyncio.sleep(pause)
                    continue
                raise SourceError(f"{self.origin}: {error}") from error
            if code != HTTPStatus.TOO_MANY_REQUESTS or not pause:
                return code, self._parsed(path, code, data), len(data)
            await asyncio.sleep(pause)
        raise AssertionError

    def _parsed(self, path: str, code: int, data: bytes) -> Json:
        try:
            answer: Any = json_codec.loads(data)
        except ValueError:
            answer = None
        if isinstance(answer, dict):
            return answer
        if 200 <= code < 300:
            raise SourceError(f"{self.origin}: {path}: the answer is not JSON")
        return {"message": f"{path}: code {code}"}

    def _checked(self, path: str, code: int, answer: Mapping[str, Any]) -> Json:
        if 200 <= code < 300:
            return dict(answer)
        raise SourceError(f"{self.origin}: {answer.get('message') or f'{path}: code {code}'}")


class _MissingError(Exception):
    """The cluster has no such resource."""


def resource_path(group: str, version: str, plural: str) -> str:
    """Return the path of a resource in all namespaces."""
    return f"/apis/{quote(group)}/{quote(version)}/{quote(plural)}"


_CRDS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource
DEFINITIONS: Final = resource_path(_CRDS.group, _CRDS.version, _CRDS.resource)
"""The path of the definitions."""
