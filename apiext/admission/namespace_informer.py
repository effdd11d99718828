"""An informer for the namespaces of the host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

from apiext.admission.host_lookup import HostRequest, ask_for
from apiext.admission.sources import NotReadyError
from apiext.meta import errors

COLLECTION: Final = "/api/v1/namespaces"
_MISSING_WAIT: Final = 0.05
"""Seconds to wait for the event of a new namespace (upstream missingNamespaceWait)."""
_READY_WAIT: Final = 10.0
"""Seconds to wait for the first list."""


class NamespaceInformer:
    """Phases of namespaces by name: a Follower of webhook/reflector.py and the NamespacePhase of NamespaceLifecycle."""

    type_name: Final = "*v1.Namespace"

    def __init__(self, ask: HostRequest, *, missing_wait: float = _MISSING_WAIT, ready_wait: float = _READY_WAIT) -> None:
        self._ask = ask
        self._missing_wait = missing_wait
        self._ready_wait = ready_wait
        self._phases: dict[str, str] = {}
        self._listed = asyncio.Event()
        self._changes = asyncio.Event()

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        return self._listed.is_set()

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        """Replace all phases."""
        self._phases = {_name(found): _phase(found) for found in objects}
        self._listed.set()
        self._notify()

    def changed(self, found: dict[str, Any]) -> None:
        """Set the phase of a namespace."""
        self._phases[_name(found)] = _phase(found)
        self._notify()

    def deleted(self, found: dict[str, Any]) -> None:
        """Remove a namespace."""
        self._phases.pop(_name(found), None)

    async def __call__(self, name: str, *, live: bool) -> str | None:
        """Return a namespace's phase, None for a missing namespace; `live` asks the host instead of the cache.

        Raises:
            NotReadyError: the first list is not complete in time.
            StatusError: the host does not answer a live request (500).
        """
        if live:
            return await self._live_phase(name)
        if not self._listed.is_set():
            await self._wait_until_listed()
        if name not in self._phases:
            await self._wait_for(name)
        return self._phases.get(name)

    async def _live_phase(self, name: str) -> str | None:
        try:
            return _phase(await ask_for(self._ask, f"{COLLECTION}/{quote(name, safe='')}"))
        except errors.StatusError as error:
            if error.code == 404:
                return None
            raise errors.internal(error.message) from error

    async def _wait_until_listed(self) -> None:
        try:
            async with asyncio.timeout(self._ready_wait):
                await self._listed.wait()
        except TimeoutError as error:
            raise NotReadyError from error

    async def _wait_for(self, name: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._missing_wait):
                while name not in self._phases:
                    await self._changes.wait()

    def _notify(self) -> None:
        self._changes.set()
        self._changes = asyncio.Event()


def strip_namespace(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a namespace reduced to its name and phase."""
    return {"metadata": {"name": _name(found)}, "status": {"phase": _phase(found)}}


def _name(found: Mapping[str, Any]) -> str:
    return str((found.get("metadata") or {}).get("name", ""))


def _phase(found: Mapping[str, Any]) -> str:
    return str((found.get("status") or {}).get("phase", ""))
