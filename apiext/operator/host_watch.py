"""Watches the host's definitions and APIServices with kopf. Its handlers update the watched state; no other code lists these objects.

kopf reports neither deletions that its watch missed, nor the end of a list. Its indices replace both: event handlers run only after all
watched resources are indexed, so at the first event of a run the indices hold a complete list, which replaces the state. If kopf lists a
second time in the same run, HostWatch restarts it with empty indices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any, Final

import kopf

from apiext.base.meta.host_annotations import DOMAIN
from apiext.base.meta.log import get_logger
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.base.webhook.transport import open_session
from apiext.operator.api_clients import Json
from apiext.operator.watched_state import WatchedState

_LOG: Final = get_logger(__name__)
RETRY_SECONDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses between kopf's attempts of one request."""
RESTART_SECONDS: Final = 2.0
"""Pause before kopf is started again after a failure."""
_SHUTDOWN_SECONDS: Final = 5.0
"""Seconds in which kopf's root tasks may end by themselves."""
_KOPF_FOLDER: Final = str(Path(kopf.__file__).parent)
_CRDS: Final = "customresourcedefinitions"
_API_SERVICES: Final = "apiservices"
_GROUPS: Final = {_CRDS: "apiextensions.k8s.io", _API_SERVICES: "apiregistration.k8s.io"}


class HostWatch:
    """Runs kopf in the current event loop, and starts it again when it fails.

    `load` returns the credentials for the host. `startup` is kopf's startup handler; kopf retries it after kopf.TemporaryError.
    `on_spawn` runs after kopf has installed its signal handlers, which would end only kopf.
    """

    def __init__(
        self, load: Callable[[], Endpoint], state: WatchedState, startup: Callable[..., Awaitable[None]], on_spawn: Callable[[], None]
    ) -> None:
        self._load = load
        self._state = state
        self._startup = startup
        self._on_spawn = on_spawn
        self._sessions: list[kopf.AiohttpSession] = []
        self._restart = asyncio.Event()
        self._unreported: set[str] | None = None
        """UIDs of listed objects whose first event is due; None until all resources are listed."""
        self.synced = asyncio.Event()
        """Set when the state holds a complete list of both resources."""

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            self._restart.clear()
            self._unreported = None
            if not await self._run_once():
                await asyncio.sleep(RESTART_SECONDS)

    def restart(self) -> None:
        """List and watch again; for a caller that doubts the state."""
        self._restart.set()

    async def _run_once(self) -> bool:
        """Run kopf until it fails or `restart` is called; return whether it was."""
        # kopf.operator() would cancel every task created after its start, also tasks of others
        tasks = await kopf.spawn_tasks(registry=self._registry(), settings=_settings(), standalone=True, clusterwide=True)
        self._on_spawn()
        restart = asyncio.create_task(self._restart.wait())
        try:
            done, _ = await asyncio.wait({*tasks, restart}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            restart.cancel()
            await _end(tasks)
            # kopf does not close them after some failures
            while self._sessions:
                await self._sessions.pop().aiohttp_session.close()
        if restart in done:
            return True
        errors = [error for task in done if not task.cancelled() and (error := task.exception())]
        _LOG.warning("host watch failed, restarting", seconds=RESTART_SECONDS, error="; ".join(map(_text, errors)))
        return False

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()

        async def login(**_: Any) -> kopf.AiohttpSession:
            endpoint = self._load()
            self._sessions.append(kopf.AiohttpSession(server=endpoint.url, aiohttp_session=open_session(endpoint)))
            return self._sessions[-1]

        kopf.on.login(registry=registry, id="login")(login)
        kopf.on.startup(registry=registry, id="startup")(self._startup)
        for plural, group in _GROUPS.items():
            kopf.index(group, "v1", plural, registry=registry, id=plural)(_index_by_name)
            kopf.on.event(group, "v1", plural, registry=registry, id=plural, param=plural)(self._on_event)
        return registry

    async def _on_event(self, *, event: Any, param: Any = None, **indices: Any) -> None:
        kind, found = event["type"], event["object"]
        cache = self._state.crds if param == _CRDS else self._state.api_services
        if self._unreported is None:
            self._take_lists(_objects(indices[_CRDS]), _objects(indices[_API_SERVICES]))
        if kind is None:
            self._check_listed_once(found["metadata"]["uid"])
        elif kind == "DELETED":
            cache.delete(found)
        else:
            cache.update(found)

    def _take_lists(self, crds: list[Json], api_services: list[Json]) -> None:
        self._unreported = {found["metadata"]["uid"] for found in (*crds, *api_services)}
        self._state.crds.replace(crds)
        self._state.api_services.replace(api_services)
        self.synced.set()

    def _check_listed_once(self, uid: str) -> None:
        """Restart kopf if it lists an object that was not in the first list of this run."""
        if self._unreported is not None and uid in self._unreported:
            self._unreported.remove(uid)
        elif not self._restart.is_set():
            _LOG.info("host watch was interrupted, listing again")
            self.restart()


async def _end(tasks: Collection[asyncio.Task[Any]]) -> None:
    """End kopf's root tasks, then their leftover tasks: the other watchers if one failed."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=_SHUTDOWN_SECONDS)
    while left := [task for task in asyncio.all_tasks() if _is_of_kopf(task)]:
        for task in left:
            task.cancel()
        # kopf may swallow a cancellation while it closes a stream
        await asyncio.wait(left, timeout=1.0)


def _is_of_kopf(task: asyncio.Task[Any]) -> bool:
    """Return whether a task runs a coroutine of kopf's package; tasks do not expose their context before Python 3.12."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename.startswith(_KOPF_FOLDER)


# kopf would call a plain function in a thread of its own
async def _index_by_name(*, name: str, body: kopf.Body, **_: Any) -> dict[str, Json]:
    return {name: dict(body)}


def _objects(index: kopf.Index[str, Json]) -> list[Json]:
    return [found for store in index.values() for found in store]


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.networking.error_backoffs = RETRY_SECONDS
    # kopf would kill the process some time after the end of its own tasks
    settings.process.ultimate_exiting_timeout = None
    # kopf removes its finalizer from objects that it does not handle, so it gets a name that nothing else uses
    settings.persistence.finalizer = f"{DOMAIN}/kopf"
    return settings


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
