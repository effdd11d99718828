"""An informer for the namespaces of the host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

from apiext.api.admission.host_lookup import HostRequest, ask_for
from apiext.api.admission.packed_objects import pack, strip, unpack
from apiext.api.admission.sources import NotReadyError
from apiext.base.meta import errors
from apiext.base.meta.encoding.json_codec import Object

COLLECTION: Final = "/api/v1/namespaces"
_MISSING_WAIT: Final = 0.05
"""Seconds to wait for the event of a new namespace (upstream missingNamespaceWait)."""
_READY_WAIT: Final = 10.0
"""Seconds to wait for the first list."""


class NamespaceInformer:
    """Namespaces by name: a Follower of base/webhook/reflector.py, the NamespacePhase of NamespaceLifecycle, and a NamespaceSource."""

    type_name: Final = "*v1.Namespace"

    def __init__(self, ask: HostRequest, *, missing_wait: float = _MISSING_WAIT, ready_wait: float = _READY_WAIT) -> None:
        self._ask = ask
        self._missing_wait = missing_wait
        self._ready_wait = ready_wait
        self._phases: dict[str, str] = {}
        self._packed: dict[str, bytes] = {}
        self._listed = asyncio.Event()
        self._changes = asyncio.Event()

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        return self._listed.is_set()

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        """Replace all namespaces."""
        self._phases = {_name(found): _phase(found) for found in objects}
        self._packed = {_name(found): pack(found) for found in objects}
        self._listed.set()
        self._notify()

    def changed(self, found: dict[str, Any]) -> None:
        """Add or update a namespace."""
        self._phases[_name(found)] = _phase(found)
        self._packed[_name(found)] = pack(found)
        self._notify()

    def deleted(self, found: dict[str, Any]) -> None:
        """Remove a namespace."""
        self._phases.pop(_name(found), None)
        self._packed.pop(_name(found), None)

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

    async def namespace(self, name: str) -> Object | None:
        """Return a namespace without managedFields, None for a missing one. Ask the host for a namespace that is not cached.

        Raises:
            NotReadyError: the first list is not complete in time.
            StatusError: the host refused the lookup, or did not answer.
        """
        if not self._listed.is_set():
            await self._wait_until_listed()
        packed = self._packed.get(name)
        return unpack(packed) if packed is not None else await self._live(name)

    async def _live(self, name: str) -> Object | None:
        try:
            return strip(await ask_for(self._ask, f"{COLLECTION}/{quote(name, safe='')}"))
        except errors.StatusError as error:
            if error.code == 404:
                return None
            raise

    async def _live_phase(self, name: str) -> str | None:
        try:
            found = await self._live(name)
        except errors.StatusError as error:
            raise errors.internal(error.message) from error
        return None if found is None else _phase(found)

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


def _name(found: Mapping[str, Any]) -> str:
    return str((found.get("metadata") or {}).get("name", ""))


def _phase(found: Mapping[str, Any]) -> str:
    return str((found.get("status") or {}).get("phase", ""))
