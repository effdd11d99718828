"""Objects from another server's store, as that one has them: a body of lines, each of which says how one object must be stored.

A line is an object in any version of its definition, or `{"delete":{"namespace":"a","name":"b"}}`. Nothing is defaulted, validated or
admitted. The lines before a bad one are done, those after it are not; to send them all again does no harm.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web

from apiext.endpoints.handlers.body import HEAVY
from apiext.endpoints.handlers.body_lines import read_lines
from apiext.endpoints.handlers.scope import MAX_BODY
from apiext.endpoints.responsewriters.response import Reply
from apiext.endpoints.responsewriters.status import text_reply
from apiext.meta import background, errors, json_codec, names
from apiext.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.meta.host_annotations import IMPORT_PATH
from apiext.registry.errors import StorageFailure, interpret
from apiext.serving.mirror_phases import check_import
from apiext.storage.raw_objects import Outcome
from apiext.storage.time_slice import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.definitions.definition import Definition
    from apiext.serving.cache import ServingCache
    from apiext.storage.raw_objects import RawObjects

_DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
_TOGETHER: Final = 128
_BYTES: Final = 1 << 20
"""Lines, and about their bytes, that are written at the same time: they share the store's transactions."""
_DELETED: Final = "deleted"
_DELETION: Final = frozenset({"delete"})


class _LineError(ValueError):
    """A line says nothing that could be done."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a line says."""

    key: str
    data: bytes | None
    """As it is to be stored; None: it is to be gone."""


class ImportHandler:
    """Answers POST of `/apiext/import/<definition>`."""

    def __init__(self, cache: ServingCache) -> None:
        self._cache = cache

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Do what the lines say and answer with what was done. Raises StatusError."""
        name = request.path.removeprefix(IMPORT_PATH)
        if name == request.path or not name or "/" in name:
            return text_reply("404 page not found", status=404)
        if request.method != hdrs.METH_POST:
            raise errors.StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
        running = _Import(self._cache, await self._definition(name))
        await running.take_all(request)
        return Reply(json_codec.dumps(running.counts, sort_keys=False) + b"\n")

    async def _definition(self, name: str) -> Definition:
        """The definition as it is right now, which may have begun to be one on another server."""
        try:
            definition = await self._cache.custodian.latest(name)
        except StorageFailure as error:
            raise interpret(error, resource=_DEFINITIONS, operation="get", name=name) from error
        if definition is None:
            raise errors.not_found(_DEFINITIONS, name)
        check_import(definition)
        return definition


class _Import:
    """The lines of one body."""

    def __init__(self, cache: ServingCache, definition: Definition) -> None:
        self.counts: dict[str, int] = dict.fromkeys([*(outcome.value for outcome in Outcome), _DELETED], 0)
        self._cache = cache
        self._definition = definition
        self._objects: RawObjects = cache.stores.raw(definition.resource, cache.custodian.imports(definition))
        self._waiting: dict[str, _Change] = {}
        self._size = 0

    async def take_all(self, request: web.BaseRequest) -> None:
        """Do all of them. Raises StatusError, which names the line that is bad."""
        pace = Pace()
        try:
            async with aclosing(read_lines(request, MAX_BODY)) as lines:
                async for number, line in lines:
                    await self._take(number, line)
                    if pace.due:
                        await pace.pause()
        except errors.StatusError:
            # what came before the line that is bad is done all the same
            await self._flush()
            raise
        await self._flush()

    async def _take(self, number: int, line: bytes) -> None:
        try:
            read = self._reader()
            change = await background.begin(read, line) if len(line) > HEAVY else read(line)
        except errors.StatusError as error:
            raise errors.StatusError(error.code, error.reason, f"line {number}: {error.message}", error.details) from error
        except (ValueError, RecursionError) as error:
            raise errors.bad_request(f"line {number}: {error}") from error
        if change.key in self._waiting:
            # of two lines about one object the later one counts
            await self._flush()
        self._waiting[change.key] = change
        self._size += len(line)
        if len(self._waiting) >= _TOGETHER or self._size >= _BYTES:
            await self._flush()

    def _reader(self) -> Callable[[bytes], _Change]:
        """What understands lines by the definition as it is now."""
        definition = self._definition = self._cache.custodian.current(self._definition)
        served = self._cache.version(self._cache.info(definition), definition.storage_version.name)
        if served is None:
            raise errors.path_not_found()
        encode = served.codec.encode
        return lambda line: _read(definition, encode, line)

    async def _flush(self) -> None:
        """Write what waits. Raises StatusError."""
        waiting, self._waiting, self._size = self._waiting, {}, 0
        results = await asyncio.gather(*map(self._write, waiting.values()), return_exceptions=True)
        for result in results:
            if isinstance(result, StorageFailure):
                raise interpret(result, resource=self._definition.resource, operation="import") from result
            if isinstance(result, BaseException):
                raise result
            if result:
                self.counts[result] += 1

    async def _write(self, change: _Change) -> str:
        if change.data is not None:
            return await self._objects.put(change.key, change.data)
        return _DELETED if await self._objects.remove(change.key) else ""


def _read(definition: Definition, encode: Callable[[json_codec.Object], bytes], line: bytes) -> _Change:
    """What a line says. Raises ValueError, and StatusError for what cannot be converted."""
    parsed = json_codec.loads(line)
    if type(parsed) is not dict:
        raise _LineError("it is no object")
    if parsed.keys() == _DELETION:
        return _Change(_key(definition, parsed["delete"], "delete"), None)
    kind, version = parsed.get("kind"), parsed.get("apiVersion")
    versions = [f"{definition.group}/{one.name}" for one in definition.versions]
    if kind != definition.names.kind or version not in versions:
        raise _LineError(f"it is a {_shown(kind)} of {_shown(version)}, and not a {definition.names.kind} of {' or '.join(versions)}")
    return _Change(_key(definition, parsed.get("metadata"), "metadata"), encode(parsed))


def _key(definition: Definition, metadata: Any, where: str) -> str:
    """The key that the name and namespace in an object make. Raises _LineError."""
    if type(metadata) is not dict:
        raise _LineError(f"{where} is no object")
    name = _part(metadata, "name", where)
    if definition.namespaced:
        return f"{_part(metadata, 'namespace', where)}/{name}"
    if metadata.get("namespace"):
        raise _LineError(f"{where}.namespace is set, and {definition.resource} is not in namespaces")
    return name


def _part(metadata: json_codec.Object, member: str, where: str) -> str:
    text = metadata.get(member)
    if type(text) is not str or not text:
        raise _LineError(f"{where}.{member} is missing, or no text")
    problems = names.path_segment(text)
    if problems:
        raise _LineError(f"{where}.{member} {'; '.join(problems)}")
    return text


def _shown(value: Any) -> str:
    return value if type(value) is str and value else "nothing"
