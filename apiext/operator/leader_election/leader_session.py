"""The time for which this operator acts."""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from apiext.meta.backoff import Backoff
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.operator import permissions
from apiext.operator.adoption.admission_policy import guarded
from apiext.operator.api_clients import API_SERVICES, CRDS, Api, ApiError, Clients
from apiext.operator.apiservices.plan import Owner, Target, owner
from apiext.operator.connection_settings import of_apiext
from apiext.operator.group_queue import GroupQueue
from apiext.operator.reconciler import Reconciler
from apiext.operator.watched_state import Watched
from apiext.webhook.reflector import Reflector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.operator.api_clients import Json
    from apiext.operator.ca_bundle import Authorities
    from apiext.operator.options import Options
    from apiext.operator.reporting.diagnosis import Diagnosis
    from apiext.operator.reporting.event_recorder import Recorder
    from apiext.operator.watched_state import Collection

_LOG: Final = get_logger(__name__)
_LOOK: Final = 60.0
"""Seconds between looks at every group, whether or not anything was told of it."""
_LIST: Final = 300.0
"""Seconds between lists of the host."""
_TOGETHER: Final = 0.3
_FOLLOW: Final = 4.0
"""Most seconds between attempts to follow apiext, which is one server that has nobody else to keep in step with."""
_FIRST, _LONGEST = 1.0, 30.0


class Term:
    """Begins with what the host and apiext say, and follows both until it is cancelled."""

    def __init__(self, options: Options, host: Api, authorities: Authorities, recorder: Recorder, diagnosis: Diagnosis) -> None:
        self._options = options
        self._host = host
        self._authorities = authorities
        self._diagnosis = diagnosis
        self._recorder = recorder
        self._bundle = ""
        self._spread: str | None = None
        self._listed = False
        self._list_soon = asyncio.Event()
        self._watched = Watched(options.selector, self._changed, self._target().service)
        self._queue = GroupQueue(self._look)
        self._reconciler: Reconciler | None = None

    def told(self, plural: str, happened: str | None, found: Json) -> None:
        """Something has changed on the host; see hostwatch."""
        collection = self._watched.crds if plural == "customresourcedefinitions" else self._watched.api_services
        collection.deleted(found) if happened == "DELETED" else collection.changed(found)
        if happened is None:
            self._list_soon.set()

    async def run(self) -> None:
        """Act."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._authorities.run())
            tasks.create_task(self._check_rights())
            self._bundle = await self._first_bundle()
            apiext = Api(of_apiext(self._options, self._bundle))
            clients = Clients(host=self._host, apiext=apiext, host_etcd=self._options.host_etcd)
            self._reconciler = Reconciler(clients, self._watched, self._recorder, self._target, self._diagnosed)
            try:
                await self._list()
                async with asyncio.TaskGroup() as follow:
                    follow.create_task(self._follow(apiext))
                    follow.create_task(self._look_again())
            finally:
                await self._queue.close()
                await apiext.close()

    async def _first_bundle(self) -> str:
        wanted = self._options.ca_file or self._options.serving_secret
        return await self._authorities.changed("") if wanted else ""

    async def _follow(self, apiext: Api) -> None:
        """Follow apiext's definitions, with whatever authorities hold at the time."""
        while True:
            reflector = Reflector(apiext.client, CRDS, _Follower(self._watched, self._look_at_all), longest=_FOLLOW)
            following = asyncio.create_task(reflector.run())
            try:
                self._bundle = await self._authorities.changed(self._bundle)
            finally:
                await end_tasks(following)
            _LOG.info("apiext has other authorities", server=apiext.url)
            await apiext.use(of_apiext(self._options, self._bundle))
            self._look_at_all()

    async def _look_again(self) -> None:
        listed = time.monotonic()
        while True:
            self._look_at_all()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._list_soon.wait(), _LOOK)
            if self._list_soon.is_set() or time.monotonic() > listed + _LIST:
                # what a list is told of comes object by object
                await asyncio.sleep(_TOGETHER)
                self._list_soon.clear()
                await self._list()
                listed = time.monotonic()

    async def _list(self) -> None:
        """Know all that the host has, however often it has to be asked."""
        backoff = Backoff(_FIRST, _LONGEST)
        while True:
            try:
                await self._list_into(self._watched.crds, CRDS)
                await self._list_into(self._watched.api_services, API_SERVICES)
                self._watched.guarded = await guarded(self._host, self._target().service)
                self._listed = True
                return
            except ApiError as error:
                _LOG.warning("the host cannot be read; it is tried again", seconds=backoff.next, error=str(error))
            await backoff.pause()

    async def _list_into(self, collection: Collection, path: str) -> None:
        newest = collection.newest
        objects, revision = await self._host.listing(path)
        if revision < newest:
            _LOG.warning("the host has gone back in time", path=path, revision=revision, newest=newest)
            collection.replaced(objects)
        else:
            collection.listed(objects, revision)

    async def _look(self, group: str) -> float | None:
        after = await self._reconciler.look(group) if self._reconciler else None
        self._tell_spread()
        return after

    def _tell_spread(self) -> None:
        """Say when all APIServices of apiext have its authorities."""
        if self._spread == self._bundle:
            return
        target = self._target()
        ours = [one["spec"] for one in self._watched.api_services.all() if owner(one, target) is Owner.APIEXT]
        if all((spec.get("caBundle") or "") == target.ca_bundle for spec in ours if spec.get("service")):
            self._spread = self._bundle
            self._authorities.spread(self._bundle)

    def _look_at_all(self) -> None:
        for group in self._watched.groups(self._target()):
            self._queue.add(group)
        self._tell_spread()

    def _changed(self, group: str) -> None:
        if self._listed:
            self._queue.add(group)

    def _target(self) -> Target:
        service = self._options.service
        bundle = base64.b64encode(self._bundle.encode()).decode()
        return Target(namespace=service.namespace, name=service.name, port=self._options.port, ca_bundle=bundle)

    async def _diagnosed(self, group: str) -> str:
        return await self._diagnosis.of(group, self._bundle)

    async def _check_rights(self) -> None:
        for right in await permissions.missing(self._host, self._options.namespace):
            _LOG.warning("the operator's user lacks a right on the host", right=str(right))


class _Follower:
    """Is told of apiext's definitions."""

    def __init__(self, watched: Watched, listed: Callable[[], None]) -> None:
        self._watched = watched
        self._listed = listed

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        self._watched.definitions.replaced(objects)
        self._watched.known = True
        self._listed()

    def changed(self, found: dict[str, Any]) -> None:
        self._watched.definitions.changed(found)

    def deleted(self, found: dict[str, Any]) -> None:
        self._watched.definitions.deleted(found)
