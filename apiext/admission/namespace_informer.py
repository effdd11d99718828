"""The namespaces of the host, followed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

from apiext.admission.host_lookup import Ask, ask_for
from apiext.admission.lifecycle import NotReadyError
from apiext.meta import errors

COLLECTION: Final = "/api/v1/namespaces"
_MISSING_WAIT: Final = 0.05
"""Seconds for a namespace that has just been made to be heard of."""
_READY_WAIT: Final = 10.0
"""Seconds for the first list."""
_NOT_FOUND: Final = 404


class FollowedNamespaces:
    """Phases by name; it is told of namespaces as a follower (webhook/reflector.py) and asked for phases by NamespaceLifecycle."""

    type_name: Final = "*v1.Namespace"

    def __init__(self, ask: Ask, *, missing_wait: float = _MISSING_WAIT, ready_wait: float = _READY_WAIT) -> None:
        self._ask = ask
        self._missing_wait = missing_wait
        self._ready_wait = ready_wait
        self._phases: dict[str, str] = {}
        self._listed = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def synced(self) -> bool:
        """Whether they have been listed."""
        return self._listed.is_set()

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        """These are all."""
        self._phases = {_name(found): _phase(found) for found in objects}
        self._listed.set()
        self._tell()

    def changed(self, found: dict[str, Any]) -> None:
        """One is new, or in another phase."""
        self._phases[_name(found)] = _phase(found)
        self._tell()

    def deleted(self, found: dict[str, Any]) -> None:
        """One has gone."""
        self._phases.pop(_name(found), None)

    async def __call__(self, name: str, *, live: bool) -> str | None:
        """A namespace's phase, None when there is none: as it is followed, or (live) as the host has it now.

        Raises:
            NotReadyError: nothing is known of namespaces yet.
            StatusError: the host does not say (500).
        """
        if live:
            return await self._now(name)
        if not self._listed.is_set():
            await self._ready()
        if name not in self._phases:
            await self._appears(name)
        return self._phases.get(name)

    async def _now(self, name: str) -> str | None:
        try:
            return _phase(await ask_for(self._ask, f"{COLLECTION}/{quote(name, safe='')}"))
        except errors.StatusError as error:
            if error.code == _NOT_FOUND:
                return None
            raise errors.internal(error.message) from error

    async def _ready(self) -> None:
        try:
            async with asyncio.timeout(self._ready_wait):
                await self._listed.wait()
        except TimeoutError as error:
            raise NotReadyError from error

    async def _appears(self, name: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._missing_wait):
                while name not in self._phases:
                    await self._news.wait()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def reduced(found: Mapping[str, Any]) -> dict[str, Any]:
    """What has to be kept of a namespace."""
    return {"metadata": {"name": _name(found)}, "status": {"phase": _phase(found)}}


def _name(found: Mapping[str, Any]) -> str:
    return str((found.get("metadata") or {}).get("name", ""))


def _phase(found: Mapping[str, Any]) -> str:
    return str((found.get("status") or {}).get("phase", ""))
