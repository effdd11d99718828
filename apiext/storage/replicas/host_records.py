"""Records that the servers on a store share: about its host cluster, and about its age."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from apiext.meta import host_annotations
from apiext.storage import keys
from apiext.storage.backend import Backend, BackendError, KeyValue

if TYPE_CHECKING:
    from collections.abc import Callable


class HostRecords:
    """JSON records under `<prefix>/apiext.dev/`.

    Raises:
        BackendError: from every method, when the backend does not answer or a record is invalid.
    """

    def __init__(self, backend: Backend, prefix: str) -> None:
        self._backend = backend
        self._root = f"{keys.root(prefix)}{host_annotations.DOMAIN}/"

    async def claim(self, uid: str) -> str:
        """Return the uid of the store's cluster. Record the given one if there is none."""
        known = (await self.agree("host", {"uid": uid})).get("uid")
        if not isinstance(known, str):
            raise BackendError(f"{self.key('host')} has no uid of the host cluster")
        return known

    async def authentication(self) -> dict[str, Any] | None:
        """Return the recorded extension-apiserver-authentication ConfigMap, or None."""
        return await self.get("host-authentication")

    async def remember_authentication(self, config_map: dict[str, Any]) -> None:
        """Record the extension-apiserver-authentication ConfigMap."""
        await self.put("host-authentication", config_map)

    async def put(self, name: str, record: dict[str, Any]) -> None:
        """Write a record unless it is stored already."""
        key, value = self.key(name), _encoded(record)
        pair, _ = await self._backend.get(key)
        if pair is None:
            await self._backend.create(key, value)
        elif pair.value != value:
            # another server's concurrent write is as good
            await self._backend.update(key, value, expected=pair.revision)

    async def change(self, name: str, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Replace a record by what `changed` returns for it, an empty one if there is none.

        `changed` is called again for the record that another server has written meanwhile.
        """
        key = self.key(name)
        while True:
            pair, _ = await self._backend.get(key)
            recorded = _decoded(pair) if pair is not None else {}
            record = changed(recorded)
            if record == recorded:
                return
            if pair is None:
                result = await self._backend.create(key, _encoded(record))
            else:
                result = await self._backend.update(key, _encoded(record), expected=pair.revision)
            if result.succeeded:
                return

    def key(self, name: str) -> str:
        """Return the key of a record."""
        return f"{self._root}{name}"

    async def agree(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record. Store the given one if there is none."""
        found = await self.get(name)
        if found is None:
            # several servers may start at once: the first one wins
            await self._backend.create(self.key(name), _encoded(record))
            found = await self.get(name)
        return found or {}

    async def get(self, name: str) -> dict[str, Any] | None:
        """Return a record, None if there is none."""
        pair, _ = await self._backend.get(self.key(name))
        return None if pair is None else _decoded(pair)


def _decoded(pair: KeyValue) -> dict[str, Any]:
    try:
        record = orjson.loads(pair.value)
    except ValueError as error:
        raise BackendError(f"{pair.key} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise BackendError(f"{pair.key} is not an object")
    return record


def _encoded(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS) + b"\n"
