"""The conversion rules of the replay's server."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from apiext.resources.conversion.rules.definition import conversion_definition
from apiext.resources.conversion.rules.model import API_VERSION, DEFINITION, KIND, PLURAL
from apiext.tools.releases.cluster_connection import DEFINITIONS
from apiext.tools.replay.outcome import ReplayError
from apiext.tools.replay.server_client import RefusedError
from apiext.tools.replay.settling import PAUSE_SECONDS, wait_until_served

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.server_client import ServerClient

_PATH: Final = f"/apis/{API_VERSION}/{PLURAL}"
_MAP: Final = "/apiext/versions/data"
_SETTLE_SECONDS: Final = 60.0


class ServerRules:
    """Writes Conversion objects, and waits until the server uses them. Defines their kind before the first one.

    Raises:
        ReplayError: the server refuses a Conversion, or does not use it.
    """

    def __init__(self, server: ServerClient) -> None:
        self._server = server
        self._rules: dict[str, Object] = {}
        """The spec of each Conversion on the server."""

    def has(self, name: str, conversion: Object | None) -> bool:
        """Return whether a definition has the rules of a Conversion."""
        return self._rules.get(name) == (None if conversion is None else conversion.get("spec"))

    async def put(self, name: str, conversion: Object | None) -> None:
        """Give a definition the rules of a Conversion; with None, no rules."""
        if self.has(name, conversion):
            return
        try:
            if conversion is None:
                await self._remove(name)
            else:
                await self._write(name, conversion)
        except RefusedError as error:
            raise ReplayError(f"the Conversion {name} is refused: {error}") from error

    async def _write(self, name: str, conversion: Object) -> None:
        if not self._rules:
            await self._define()
        path, spec = f"{_PATH}/{quote(name)}", conversion.get("spec")
        body: Object = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
        if name in self._rules:
            body["metadata"]["resourceVersion"] = (await self._server.ask("GET", path))["metadata"]["resourceVersion"]
            written = await self._server.ask("PUT", path, body)
        else:
            written = await self._server.ask("POST", _PATH, body)
        self._rules[name] = body["spec"]

        def is_known(found: Object) -> bool:
            # the server writes the status after it has taken the rules
            return bool((found.get("status") or {}).get("observedGeneration") == written["metadata"]["generation"])

        await self._until(path, is_known, f"the server does not use the Conversion {name}")

    async def _remove(self, name: str) -> None:
        await self._server.ask("DELETE", f"{_PATH}/{quote(name)}")
        del self._rules[name]

        def is_gone(found: Object) -> bool:
            return all(one["conversion"]["strategy"] != "Rules" for one in found["definitions"] if one["name"] == name)

        await self._until(_MAP, is_gone, f"the server still uses the Conversion {name}")

    async def _define(self) -> None:
        """Define the kind, unless it was defined for an earlier Conversion."""
        try:
            await self._server.ask("POST", DEFINITIONS, conversion_definition())
        except RefusedError as error:
            if error.status.get("reason") != "AlreadyExists":
                raise
        if problem := await wait_until_served(self._server, DEFINITION):
            raise ReplayError(f"{DEFINITION}: {problem}")

    async def _until(self, path: str, is_done: Callable[[Object], bool], failure: str) -> None:
        end = time.monotonic() + _SETTLE_SECONDS
        while not is_done(await self._server.ask("GET", path)):
            if time.monotonic() > end:
                raise ReplayError(failure)
            await asyncio.sleep(PAUSE_SECONDS)
