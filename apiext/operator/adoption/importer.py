"""Making apiext hold what the host holds: the differences go through apiext's import endpoint."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.meta import json_codec
from apiext.meta.host_annotations import IMPORT_PATH
from apiext.meta.tasks import end_tasks
from apiext.operator.adoption.polling import patiently
from apiext.operator.adoption.store_diff import Contents, Difference, Side, differences

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from apiext.operator.adoption.store_diff import Held
    from apiext.operator.api_clients import Api

_LINES_TYPE: Final = {"Content-Type": "application/x-ndjson"}
_LINES: Final = 500
_BYTES: Final = 4_000_000
"""At which of the two a part is sent."""
_AGAIN: Final = frozenset({409, 429, 503})
"""A server that has not heard of the mirror's phase, or has others to answer first."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What one pass has found: all that the source has, and in how many objects the target was different."""

    source: Contents
    different: int


async def copy(source: AsyncGenerator[Held, None], target: AsyncGenerator[Held, None], importer: Importer) -> Copied:
    """Give the importer all that the target has otherwise than the source, and return when it has taken it.

    It may be broken off at any point and begun again: what has been taken is not different any more.

    Raises:
        ApiError: a side cannot be read, or an object cannot be imported.
        OrderError: a side is out of order.
    """
    different = 0
    async with aclosing(source), aclosing(target):
        wanted = Side(source)
        async with aclosing(differences(wanted, Side(target))) as found:
            async for difference in found:
                different += 1
                await importer.take(difference)
    await importer.flush()
    return Copied(wanted.contents, different)


class Importer:
    """Sends differences to apiext, a part at a time, while the next part is being found."""

    def __init__(self, apiext: Api, definition: str) -> None:
        self._apiext = apiext
        self._path = f"{IMPORT_PATH}{definition}"
        self._lines: list[bytes] = []
        self._size = 0
        self._sending: asyncio.Task[None] | None = None

    async def take(self, difference: Difference) -> None:
        """Note what has to be done. Raises ApiError, also for what was taken before."""
        line = _line(difference)
        self._lines.append(line)
        self._size += len(line)
        if len(self._lines) >= _LINES or self._size >= _BYTES:
            await self._send()

    async def flush(self) -> None:
        """Return when all has been done. Raises ApiError."""
        if self._lines:
            await self._send()
        await self._sent()

    async def close(self) -> None:
        """Break off."""
        if self._sending is not None:
            await end_tasks(self._sending)

    async def _send(self) -> None:
        await self._sent()
        part, self._lines, self._size = b"\n".join(self._lines) + b"\n", [], 0
        self._sending = asyncio.create_task(self._post(part))

    async def _sent(self) -> None:
        if self._sending is not None:
            sending, self._sending = self._sending, None
            await sending

    async def _post(self, part: bytes) -> None:
        await patiently(lambda: self._once(part), codes=_AGAIN)

    async def _once(self, part: bytes) -> None:
        code, data = await self._apiext.ask("POST", self._path, part, headers=_LINES_TYPE)
        if code != 200:
            raise self._apiext.refusal("POST", self._path, code, data)


def _line(difference: Difference) -> bytes:
    if difference.wanted is not None:
        return json_codec.dumps(difference.wanted.content)
    gone = difference.present
    return json_codec.dumps({"delete": {"namespace": gone.namespace, "name": gone.name}} if gone else {})
