"""What a store remembers of the host cluster that it belongs to, for all servers on it and for their next start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from apiext.meta import host_annotations
from apiext.storage import keys
from apiext.storage.backend import BackendError

if TYPE_CHECKING:
    from apiext.storage.backend import Backend


class HostRecords:
    """JSON under `<prefix>/apiext.dev/`. Every method raises BackendError, also for a record that cannot be understood."""

    def __init__(self, backend: Backend, prefix: str) -> None:
        self._backend = backend
        self._root = f"{keys.root(prefix)}{host_annotations.DOMAIN}/"

    async def claim(self, uid: str) -> str:
        """The uid of the cluster that the store belongs to; the given one, where it has not belonged to any."""
        record = await self._get("host")
        if record is None:
            # of several servers that begin at once one is first
            await self._backend.create(f"{self._root}host", _written({"uid": uid}))
            record = await self._get("host")
        known = (record or {}).get("uid")
        if not isinstance(known, str):
            raise BackendError(f"{self._root}host does not tell which cluster the store belongs to")
        return known

    async def authentication(self) -> dict[str, Any] | None:
        """How the cluster's clients are known, None where that has not been remembered."""
        return await self._get("host-authentication")

    async def remember_authentication(self, config_map: dict[str, Any]) -> None:
        """Remember how the cluster's clients are known."""
        key, value = f"{self._root}host-authentication", _written(config_map)
        pair, _ = await self._backend.get(key)
        if pair is None:
            await self._backend.create(key, value)
        elif pair.value != value:
            # where another server was quicker its word is as good
            await self._backend.update(key, value, expected=pair.revision)

    async def _get(self, name: str) -> dict[str, Any] | None:
        pair, _ = await self._backend.get(f"{self._root}{name}")
        if pair is None:
            return None
        try:
            record = orjson.loads(pair.value)
        except ValueError as error:
            raise BackendError(f"{pair.key} is no JSON: {error}") from error
        if not isinstance(record, dict):
            raise BackendError(f"{pair.key} is no object")
        return record


def _written(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS) + b"\n"
