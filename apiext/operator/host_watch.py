"""Changes of definitions and APIServices on the host, as kopf sees them.

kopf watches with a loop and a thread of its own: when it ends, or fails, it takes every task of its loop along. It only looks: handlers of
low-level events make it write no annotations, no finalizers and no events.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import kopf

from apiext.meta.host_annotations import DOMAIN
from apiext.meta.log import get_logger
from apiext.webhook.client_session import open_session

if TYPE_CHECKING:
    from apiext.operator.api_clients import Json
    from apiext.webhook.kubeconfig import Endpoint

_LOG: Final = get_logger(__name__)
_BACKOFFS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
_AGAIN: Final = 2.0
"""Seconds until kopf is started again after it has failed."""
_PATIENCE: Final = 5.0
_RESOURCES: Final = (("apiextensions.k8s.io", "v1", "customresourcedefinitions"), ("apiregistration.k8s.io", "v1", "apiservices"))

Told = Callable[[str, "str | None", "Json"], None]
"""Is told the plural, what has happened (ADDED, MODIFIED, DELETED, or None for an object of a list), and the object."""


class HostWatch:
    """Calls back in the loop of whoever starts it.

    kopf lists at the beginning and where a watch cannot go on; what has gone until then is never told, so whoever is told of
    an object of a list has to see for himself what is not there any more.
    """

    def __init__(self, load: Callable[[], Endpoint], told: Told) -> None:
        self._load = load
        self._told = told
        self._stop = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="kopf", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    async def stop(self) -> None:
        """End it; it is left behind where it takes long."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, _PATIENCE)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                kopf.run(registry=self._registry(), settings=_settings(), standalone=True, clusterwide=True, stop_flag=self._stop)
            except Exception as error:  # noqa: BLE001 -- whatever ends it, it has to go on
                _LOG.warning("the host cannot be watched; it is tried again", error=str(error) or type(error).__name__)
            self._stop.wait(_AGAIN)

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()

        async def login(**_: Any) -> kopf.AiohttpSession:
            endpoint = self._load()
            return kopf.AiohttpSession(server=endpoint.url, aiohttp_session=open_session(endpoint))

        kopf.on.login(registry=registry, id="login")(login)
        for group, version, plural in _RESOURCES:
            kopf.on.event(group, version, plural, registry=registry, id=plural, param=plural)(self._on_event)
        return registry

    async def _on_event(self, *, event: Any, param: Any = None, **_: Any) -> None:
        self._loop.call_soon_threadsafe(self._told, param, event["type"], event["object"])


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.networking.error_backoffs = _BACKOFFS
    # kopf takes its finalizer off what it does not handle, so it has one that nobody else uses
    settings.persistence.finalizer = f"{DOMAIN}/kopf"
    return settings
