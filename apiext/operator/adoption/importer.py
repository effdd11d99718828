"""Copies a resource to apiext: sends the differences to apiext's import endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.host_annotations import IMPORT_PATH
from apiext.base.scheduling.tasks import end_tasks
from apiext.operator.adoption.polling import retry_on_codes
from apiext.operator.adoption.store_diff import ContentSummary, Difference, ObjectStream, StoredObject, differences
from apiext.operator.api_clients import ApiClient

_LINES_TYPE: Final = {"Content-Type": "application/x-ndjson"}
_MAX_LINES: Final = 500
_MAX_BYTES: Final = 4_000_000
"""Limits of a batch, in objects and bytes: the importer sends it when it reaches one."""
_RETRIED_CODES: Final = frozenset({409, 429, 503})
"""Responses of a replica that has not seen the mirror's phase yet, or is overloaded."""


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The result of one pass: the summary of the source, and the number of objects that differed at the target."""

    source: ContentSummary
    different: int


async def copy(
    source: AsyncGenerator[StoredObject, None], target: AsyncGenerator[StoredObject, None], apiext: ApiClient, definition: str
) -> CopyResult:
    """Import all objects of a definition that differ between source and target. Repeat an interrupted call.

    Raises:
        ApiError: a side cannot be read or is out of order, or apiext refuses an object.
    """
    wanted, different = ObjectStream(source), 0
    importer = Importer(apiext, definition)
    try:
        async with aclosing(source), aclosing(target), aclosing(differences(wanted, ObjectStream(target))) as found:
            async for difference in found:
                different += 1
                await importer.add(difference)
        await importer.flush()
    finally:
        await importer.close()
    return CopyResult(wanted.summary, different)


class Importer:
    """Sends differences to apiext in batches. While a request runs, it collects the next batch."""

    def __init__(self, apiext: ApiClient, definition: str) -> None:
        self._apiext = apiext
        self._path = f"{IMPORT_PATH}{definition}"
        self._lines: list[bytes] = []
        self._size = 0
        self._sending: asyncio.Task[None] | None = None

    async def add(self, difference: Difference) -> None:
        """Add a difference to the batch. Raises ApiError, possibly for an earlier batch."""
        line = _line(difference)
        self._lines.append(line)
        self._size += len(line)
        if len(self._lines) >= _MAX_LINES or self._size >= _MAX_BYTES:
            await self._send()

    async def flush(self) -> None:
        """Send the rest, and wait for the responses. Raises ApiError."""
        if self._lines:
            await self._send()
        await self._wait_for_response()

    async def close(self) -> None:
        """Cancel the request in progress."""
        if self._sending is not None:
            await end_tasks(self._sending)

    async def _send(self) -> None:
        await self._wait_for_response()
        batch, self._lines, self._size = b"\n".join(self._lines) + b"\n", [], 0
        self._sending = asyncio.create_task(retry_on_codes(lambda: self._post(batch), codes=_RETRIED_CODES))

    async def _wait_for_response(self) -> None:
        if self._sending is not None:
            sending, self._sending = self._sending, None
            await sending

    async def _post(self, batch: bytes) -> None:
        code, data = await self._apiext.request("POST", self._path, batch, headers=_LINES_TYPE)
        if code != 200:
            raise self._apiext.status_error("POST", self._path, code, data)


def _line(difference: Difference) -> bytes:
    if difference.wanted is not None:
        return json_codec.dumps(difference.wanted.content)
    gone = difference.present
    return json_codec.dumps({"delete": {"namespace": gone.namespace, "name": gone.name}} if gone else {})
