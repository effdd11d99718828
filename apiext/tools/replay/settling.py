"""Waits until the server serves a definition as it is."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from apiext.tools.replay.server_client import RefusedError

if TYPE_CHECKING:
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.replay.server_client import ServerClient

PAUSE_SECONDS: Final = 0.1
"""Between two requests about the same state that others change, ..."""
_FIRST_PAUSE_SECONDS: Final = 0.005
"""... and at first, since most changes take effect at once."""
_SETTLE_SECONDS: Final = 20.0
_NOT_FOUND: Final = 404


async def wait_until_served(server: ServerClient, name: str) -> str:
    """Wait until the server serves the versions of a definition, and no others. Return why it does not, "" if it does."""
    end, pause = time.monotonic() + _SETTLE_SECONDS, _FIRST_PAUSE_SECONDS
    while time.monotonic() < end:
        definition = await server.definition(name)
        if conflict := _conflict(definition):
            return f"its names are not accepted: {conflict}"
        if all([await _is_served(server, definition, version.name) is version.served for version in definition.versions]):
            return ""
        await asyncio.sleep(pause)
        pause = min(2 * pause, PAUSE_SECONDS)
    return "the server does not serve its versions"


def _conflict(definition: Definition) -> str:
    """Return why the names are not accepted, "" if they are or if that is not known yet."""
    conditions = definition.head["status"].get("conditions") or ()
    return next((str(one.get("message")) for one in conditions if one["type"] == "NamesAccepted" and one["status"] == "False"), "")


async def _is_served(server: ServerClient, definition: Definition, version: str) -> bool:
    try:
        await server.ask("GET", f"/apis/{definition.group}/{version}")
        path = f"/apis/{definition.group}/{version}/{definition.names.plural}"
        await server.ask("GET", path, query={"limit": 1})
    except RefusedError as error:
        return error.code != _NOT_FOUND
    return True
