"""Parameters of policies, from the host: an informer for each kind that a bound policy uses.

Mirrors apiserver pkg/admission/plugin/policy/generic (policy_source.go, and CollectParams of policy_dispatcher.go).
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.api.admission.host_lookup import ask_for
from apiext.api.admission.packed_objects import reduce, strip
from apiext.api.admission.param_informer import READY_WAIT, ParamInformer
from apiext.api.admission.typed_kinds import is_typed
from apiext.base.meta import errors
from apiext.base.scheduling.tasks import SharedWork, end_tasks
from apiext.server.host.served_reflector import ServedReflector

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from apiext.api.admission.sources import ParamQuery
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.client import WebhookClient
    from apiext.server.host.discovery import HostDiscovery, HostResource

_LIVE_SECONDS: Final = 1.0
"""Timeout of the live lookup of an object that the informer does not have (upstream getParamDirectly)."""
_MAX_PAUSE: Final = 5.0
"""Seconds between searches for a kind that the host does not serve; upstream asks every 30 s."""


class ParamKind(NamedTuple):
    """The kind of a policy's parameters."""

    api_version: str
    kind: str

    @property
    def is_typed(self) -> bool:
        """Return whether client-go has a Go type for the kind."""
        return is_typed(self.api_version)


class _Followed:
    """A kind with its informer and the task that feeds it."""

    def __init__(self, client: WebhookClient, discovery: HostDiscovery, kind: ParamKind, ready_wait: float) -> None:
        self.informer = ParamInformer(typed=kind.is_typed, ready_wait=ready_wait)
        self.reflector = ServedReflector(
            client,
            partial(discovery.of_kind, *kind),
            self.informer,
            what=f"{kind.api_version}, Kind={kind.kind}",
            reduce=partial(reduce, typed=kind.is_typed),
            max_pause=_MAX_PAUSE,
        )
        self.task = asyncio.create_task(self.reflector.run(), name=f"params-{kind.kind}")


class HostParams:
    """The ParamSource of a server behind a host."""

    def __init__(self, client: WebhookClient, discovery: HostDiscovery, *, ready_wait: float = READY_WAIT) -> None:
        self._ready_wait = ready_wait
        self._client = client
        self._discovery = discovery
        self._followed: dict[ParamKind, _Followed] = {}
        self._lookups: SharedWork[Sequence[Object]] = SharedWork()

    def use(self, kinds: Collection[ParamKind]) -> None:
        """Follow exactly these kinds: those of bound policies."""
        for kind in self._followed.keys() - set(kinds):
            self._followed.pop(kind).task.cancel()
        for kind in kinds:
            self._informer_of(kind)

    @property
    def unlisted(self) -> list[str]:
        """The kinds that are followed but have never been listed."""
        return sorted(f"{kind.kind} of {kind.api_version}" for kind, one in self._followed.items() if not one.informer.synced)

    async def close(self) -> None:
        """Follow no kind any more."""
        followed, self._followed = self._followed, {}
        await end_tasks(*(one.task for one in followed.values()))

    async def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        """Return the scope of a kind, None for one that the host does not serve.

        Raises:
            StatusError: discovery failed.
        """
        resource = await self._resource(ParamKind(api_version, kind))
        return None if resource is None else resource.namespaced

    async def params(self, query: ParamQuery) -> Sequence[Object]:
        """Return objects by namespace and name. Ask the host for a named object that the informer does not have.

        Raises:
            NotReadyError: they are not listed within a second.
            StatusError: the live lookup failed.
        """
        kind = ParamKind(query.api_version, query.kind)
        informer = self._informer_of(kind).informer
        await informer.wait_until_listed()
        if not query.name:
            return await informer.select(query.namespace, query.selector)
        found = informer.get(query.namespace, query.name)
        return await self._live(kind, query) if found is None else [found]

    def _informer_of(self, kind: ParamKind) -> _Followed:
        followed = self._followed.get(kind)
        if followed is None:
            followed = self._followed[kind] = _Followed(self._client, self._discovery, kind, self._ready_wait)
        return followed

    async def _resource(self, kind: ParamKind) -> HostResource | None:
        reflector = self._informer_of(kind).reflector
        if reflector.resource is not None:
            return reflector.resource
        resource = await self._discovery.of_kind(*kind)
        if resource is not None:
            reflector.look_again()
        return resource

    async def _live(self, kind: ParamKind, query: ParamQuery) -> Sequence[Object]:
        """Return the object in the host's store, nothing for a missing one. Writes at the same time share a lookup."""
        resource = await self._resource(kind)
        if resource is None:
            return []
        path = resource.path(query.namespace, query.name)
        return await self._lookups.run(path, partial(self._fetch, path, typed=kind.is_typed))

    async def _fetch(self, path: str, *, typed: bool) -> Sequence[Object]:
        try:
            async with asyncio.timeout(_LIVE_SECONDS):
                return [strip(await ask_for(self._client.ask, path), typed=typed)]
        except TimeoutError as error:
            raise errors.unknown(f'Get "{path}": context deadline exceeded') from error
        except errors.StatusError as error:
            if error.code == 404:
                return []
            raise
