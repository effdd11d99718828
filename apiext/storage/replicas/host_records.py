"""Records that the servers on a store share: about its host cluster, and about its age."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from apiext.storage.backend import Backend, BackendError, KeyValue
from apiext.storage.replicas import server_keys

if TYPE_CHECKING:
    from collections.abc import Callable


class HostRecords:
    """JSON records under `<prefix>/apiext/`, and those that servers of earlier releases keep under `<prefix>/apiext.dev/`.

    Of both places, the record that was written later counts. As long as a record exists at its former place, it is written there, too:
    a server of an earlier release reads it at its next start.

    Raises:
        BackendError: from every method, when the backend does not answer or a record is invalid.
    """

    def __init__(self, backend: Backend, prefix: str) -> None:
        self._backend = backend
        self._root = server_keys.root(prefix)
        self._former_root = server_keys.former_root(prefix)

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

    async def put(self, name: str, record: dict[str, Any], *, everywhere: bool = False) -> None:
        """Write a record unless it is stored already. `everywhere`: at its former place, too, even if there is none yet."""
        value = _encoded(record)
        for key in self.keys(name) if everywhere else await self._places(name):
            pair, _ = await self._backend.get(key)
            if pair is None:
                await self._backend.create(key, value)
            elif pair.value != value:
                # another server's concurrent write is as good
                await self._backend.update(key, value, expected=pair.revision)

    async def change(self, name: str, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Replace a record by what `changed` returns for it, an empty one if there is none.

        `changed` is called again for the record that another server has written meanwhile, and for the one at the former place.
        """
        for key in await self._places(name):
            await self._change(key, changed)

    async def _change(self, key: str, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
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

    def former_key(self, name: str) -> str:
        """Return the key of a record in earlier releases."""
        return f"{self._former_root}{name}"

    def keys(self, name: str) -> tuple[str, str]:
        """Return the present and the former key of a record."""
        return self.key(name), self.former_key(name)

    async def agree(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record that never changes. Store the given one if there is none."""
        found = await self._first(name)
        if found is None:
            # several servers may start at once: the first one wins
            await self._backend.create(self.key(name), _encoded(record))
            found = await self._first(name)
        return {} if found is None else _decoded(found)

    async def get(self, name: str) -> dict[str, Any] | None:
        """Return a record, None if there is none."""
        pairs = await self.pairs(name)
        return _decoded(max(pairs, key=lambda pair: pair.revision)) if pairs else None

    async def records(self, name: str) -> list[dict[str, Any]]:
        """Return a record of each place, the present one first."""
        return [_decoded(pair) for pair in await self.pairs(name)]

    async def pairs(self, name: str) -> list[KeyValue]:
        """Return what is stored at each place, at the present one first."""
        found = [(await self._backend.get(key))[0] for key in self.keys(name)]
        return [pair for pair in found if pair is not None]

    async def _first(self, name: str) -> KeyValue | None:
        return next(iter(await self.pairs(name)), None)

    async def _places(self, name: str) -> list[str]:
        """Return the keys at which a record is written. The former one is first: what it has is also for the present one."""
        key, former_key = self.keys(name)
        former, _ = await self._backend.get(former_key)
        return [key] if former is None else [former_key, key]


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
