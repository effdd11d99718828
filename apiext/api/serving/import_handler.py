"""Handler of imports: writes objects to this store in the form that another server's store has.

The request body has one line for each object: the object in any version of its definition, or
`{"delete":{"namespace":"a","name":"b"}}`. Objects are not defaulted, validated or admitted. Lines before an invalid line are written,
lines after it are not. Imports are idempotent.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web

from apiext.api.endpoints.handlers.expect_continue import ask_for_body
from apiext.api.endpoints.request import USER
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.serving.remote.remote_scopes import VersionPlace, kept_version
from apiext.base.meta import errors, limits, names
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.host_annotations import IMPORT_PATH
from apiext.base.meta.limits import MAX_BODY_BYTES
from apiext.base.scheduling.time_slice import Pace
from apiext.resources.definitions.mirror_phases import check_import
from apiext.resources.registry.errors import StorageFailure, interpret
from apiext.storage.stored_bytes.raw_objects import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from apiext.api.serving.cache import ServingCache
    from apiext.base.workers.pool import WorkerPool
    from apiext.base.workers.server_link import ServerLink
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.interface import Codec
    from apiext.storage.stored_bytes.raw_objects import RawObjects

_DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
_BATCH_LINES: Final = 128
_BATCH_BYTES: Final = 1 << 20
"""Lines, and their approximate bytes, to write concurrently: they share transactions of the store."""
_DELETED: Final = "deleted"
_DELETION: Final = frozenset({"delete"})


class ImportHandler:
    """Answers POST of `/apiext/import/<definition>`."""

    def __init__(self, cache: ServingCache, workers: WorkerPool) -> None:
        self._cache = cache
        self._workers = workers

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Write the objects of the body. Return the number of lines by outcome.

        Raises:
            StatusError: the definition does not accept imports, a line is invalid, or a write fails.
        """
        name = request.path.removeprefix(IMPORT_PATH)
        if name == request.path or not name or "/" in name:
            return text_reply("404 page not found", status=404)
        if request.method != hdrs.METH_POST:
            raise errors.StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
        batch = _Import(self._cache, await self._definition(name), self._workers, request[USER].name)
        await batch.write_all(request)
        return Reply(json_codec.dumps(batch.counts, sort_keys=False) + b"\n")

    async def _definition(self, name: str) -> Definition:
        """Return the current definition from the store: another server may have changed its phase."""
        try:
            definition = await self._cache.guards.latest(name)
        except StorageFailure as error:
            raise interpret(error, resource=_DEFINITIONS, operation="get", name=name) from error
        if definition is None:
            raise errors.not_found(_DEFINITIONS, name)
        check_import(definition)
        return definition


class _Import:
    """Import of one request body."""

    def __init__(self, cache: ServingCache, definition: Definition, workers: WorkerPool, user: str) -> None:
        self.counts: dict[str, int] = dict.fromkeys([*(outcome.value for outcome in Outcome), _DELETED], 0)
        self._cache = cache
        self._definition = definition
        self._workers = workers
        self._user = user
        self._objects: RawObjects = cache.stores.raw(definition.resource, cache.guards.for_imports(definition))
        self._pending: dict[str, bytes | None] = {}
        """The stored form of objects by key; None deletes the object."""
        self._size = 0

    async def write_all(self, request: web.BaseRequest) -> None:
        """Write all lines.

        Raises:
            StatusError: a line is invalid, or a write fails. The message names the line.
        """
        pace = Pace()
        try:
            async with aclosing(_read_lines(request, MAX_BODY_BYTES)) as lines:
                async for number, line in lines:
                    await self._add(number, line)
                    await pace.checkpoint()
        except errors.StatusError:
            # The lines before the invalid one are written.
            await self._flush()
            raise
        await self._flush()

    async def _add(self, number: int, line: bytes) -> None:
        try:
            key, data = await self._read(line)
        except errors.StatusError as error:
            raise errors.StatusError(error.code, error.reason, f"line {number}: {error.message}", error.details) from error
        except (ValueError, RecursionError) as error:
            raise errors.bad_request(f"line {number}: {error}") from error
        if key in self._pending:
            # If two lines concern one object, the later one must win.
            await self._flush()
        self._pending[key] = data
        self._size += len(line)
        if len(self._pending) >= _BATCH_LINES or self._size >= _BATCH_BYTES:
            await self._flush()

    async def _read(self, line: bytes) -> tuple[str, bytes | None]:
        """Return the key of a line and its object in stored form; no object for a deletion.

        Raises:
            ValueError: the line is invalid.
            StatusError: the object cannot be converted.
        """
        definition = self._definition = self._cache.guards.current(self._definition)
        served = self._cache.storage_version(self._cache.info(definition))
        remote = served.scopes[""].remote
        if len(line) <= limits.MAX_INLINE_BYTES or remote is None:
            return await _read(definition, served.codec, line)
        return await remote.inspect(self._workers, _read_remotely, line, user=self._user)

    async def _flush(self) -> None:
        """Write the collected changes. Raises StatusError."""
        pending, self._pending, self._size = self._pending, {}, 0
        results = await asyncio.gather(*map(self._write, pending.keys(), pending.values()), return_exceptions=True)
        for result in results:
            if isinstance(result, StorageFailure):
                raise interpret(result, resource=self._definition.resource, operation="import") from result
            if isinstance(result, BaseException):
                raise result
            if result:
                self.counts[result] += 1

    async def _write(self, key: str, data: bytes | None) -> str:
        if data is not None:
            return await self._objects.put(key, data)
        return _DELETED if await self._objects.remove(key) else ""


async def _read_remotely(link: ServerLink, place: VersionPlace, line: bytes) -> tuple[str, bytes | None]:
    """Read a line in a worker process."""
    definition, served = kept_version(link, place)
    return await _read(definition, served.codec, line)


async def _read(definition: Definition, codec: Codec, line: bytes) -> tuple[str, bytes | None]:
    """Return the key and the stored form of a line; None for a deletion. Raises ValueError or StatusError."""
    key, obj = _parse(definition, line)
    if obj is None:
        return key, None
    if codec.conversion is not None:
        obj = await codec.conversion.to_storage(obj)
    return key, codec.encode(obj).stored


def _parse(definition: Definition, line: bytes) -> tuple[str, json_codec.Object | None]:
    """Return the key and object of a line; no object for a deletion. Raises ValueError."""
    parsed = json_codec.loads(line)
    if type(parsed) is not dict:
        raise ValueError("is not an object")
    if parsed.keys() == _DELETION:
        return _key(definition, parsed["delete"], "delete"), None
    kind, version = parsed.get("kind"), parsed.get("apiVersion")
    versions = [f"{definition.group}/{one.name}" for one in definition.versions]
    if kind != definition.names.kind or version not in versions:
        raise ValueError(f"is a {_shown(kind)} of {_shown(version)}, expected a {definition.names.kind} of {' or '.join(versions)}")
    return _key(definition, parsed.get("metadata"), "metadata"), parsed


def _key(definition: Definition, metadata: Any, where: str) -> str:
    """Return the store key for the name and namespace in an object. Raises ValueError."""
    if type(metadata) is not dict:
        raise ValueError(f"{where} is not an object")
    name = _name_of(metadata, "name", where)
    if definition.namespaced:
        return f"{_name_of(metadata, 'namespace', where)}/{name}"
    if metadata.get("namespace"):
        raise ValueError(f"{where}.namespace is set, but {definition.resource} is cluster-scoped")
    return name


def _name_of(metadata: json_codec.Object, member: str, where: str) -> str:
    text = metadata.get(member)
    if type(text) is not str or not text:
        raise ValueError(f"{where}.{member} is missing or not a string")
    problems = names.path_segment(text)
    if problems:
        raise ValueError(f"{where}.{member} {'; '.join(problems)}")
    return text


def _shown(value: Any) -> str:
    return value if type(value) is str and value else "nothing"


async def _read_lines(request: web.BaseRequest, limit: int) -> AsyncGenerator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers from 1. The last line need not end with a line break.

    Raises:
        StatusError: 413 for a line above the limit in bytes, 500 for a body that ends early.
    """
    if hdrs.EXPECT in request.headers:
        await ask_for_body(request)
    number, begun = 1, bytearray()
    while chunk := await _next_chunk(request):
        first, *more = chunk.split(b"\n")
        begun += first
        _check_line(begun, number, limit)
        if not more:
            continue
        for line in (bytes(begun), *more[:-1]):
            _check_line(line, number, limit)
            if not line.isspace() and line:
                yield number, line
            number += 1
        begun = bytearray(more[-1])
    if begun and not begun.isspace():
        yield number, bytes(begun)


async def _next_chunk(request: web.BaseRequest) -> bytes:
    try:
        return await request.content.readany()
    except web.RequestPayloadError as error:
        raise errors.unknown(str(error)) from error


def _check_line(line: bytes | bytearray, number: int, limit: int) -> None:
    if len(line) > limit:
        raise errors.too_large(f"line {number}: limit is {limit}")
