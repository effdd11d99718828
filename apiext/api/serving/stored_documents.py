"""The documents below `/stored/`, made from the bytes in the store.

| path | answer |
| --- | --- |
| `/stored/versions` | the definitions with the number of objects stored in each version |
| `/stored/versions/CRD` | the same for one definition |
| `/stored/servers` | the servers on the store, and the version in which each writes the objects of a definition; they are asked |
| `/stored/invalid/CRD` | the objects that the definition's storage version would refuse, or that cannot be decoded |
| `/stored/unreadable/CRD` | the objects that no version can show, since they cannot be decoded; with `key` only that one |
| `/stored/objects/CRD` | key, version and size of the objects |
| `/stored/objects/CRD/NAMESPACE/NAME` | the stored bytes of an object; of a cluster-scoped one without NAMESPACE |

A POST to `/stored/reencrypt` writes values again that need it, with the first key of the encryption; also page by page.

Documents with many entries come in pages: `limit` is the number of examined entries, `continue` the last entry of the previous page.
A page of large objects has fewer.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from aiohttp import hdrs, web

from apiext.api.endpoints.handlers.body import read_body
from apiext.api.endpoints.request import USER
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.serving.remote.remote_scopes import VersionPlace, kept_version
from apiext.base.meta import errors, field
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.limits import MAX_BODY_BYTES
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.time_slice import Pace, paced
from apiext.resources.definitions.stored_report import stored_report
from apiext.resources.registry.errors import StorageFailure, interpret
from apiext.resources.registry.request_context import RequestContext
from apiext.storage import stored_object
from apiext.storage.errors import CorruptObjectError, EncryptedObjectError, InvalidObjectError, KeyNotFoundError
from apiext.storage.paged_reads import PageLimit
from apiext.storage.rendering.renderer import DECODING_ERRORS, Renderer
from apiext.storage.stored_bytes.reencryption import reencrypt_page

if TYPE_CHECKING:
    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.base.workers.server_link import ServerLink
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.backend import KeyValue
    from apiext.storage.interface import Codec
    from apiext.storage.replicas.replica import Replica
    from apiext.storage.stored_bytes.repair import Repair
    from apiext.storage.stored_bytes.version_counts import StoredVersions
    from apiext.storage.stored_object import UnreadableObject

_DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
MAX_ENTRIES: Final = 1000
"""Entries of a page."""
_DEFAULT_ENTRIES: Final = 500
_PIECE: Final = 50
"""Objects in memory at a time; fewer large ones."""
MAX_PAGE_BYTES: Final = 64 << 20
"""Bytes of examined objects after which a page ends; reading them takes 0.1 s."""
_ENCODED_BYTES: Final = 192 << 10
"""Bytes of an object to encode at a time, in a fraction of a millisecond. A multiple of 3, so that the texts can be joined."""
_JOB_BYTES: Final = 1 << 20
"""Bytes of objects that a worker process validates in one job; other users' jobs run between jobs. Decoded, they take some tens of MiB."""
_TOGETHER: Final = 4
"""Documents in progress at a time: each may hold a piece of large objects."""
_PAGE_SECONDS: Final = 10.0
"""Seconds after which a page ends early."""

_OPENER: Final = Renderer("")
_MAX_CHARACTERS: Final = 500
"""Characters of a problem: an object may violate its schema in many places."""


_LOG: Final = get_logger(__name__)


class StoredRepairs:
    """Recognizes, replaces and deletes unreadable objects. Writes need the revision of the object as `resourceVersion`.

    Raises:
        BackendError: from every method, when the store does not answer.
        StatusError: from the writes: the object does not exist (404), is another one by now (409), or must not be written now (429).
    """

    def __init__(self, cache: ServingCache) -> None:
        self._cache = cache

    async def unreadable(self, definition: Definition, pairs: Sequence[KeyValue]) -> list[Object]:
        """Return the unreadable objects among some stored ones, with the reason."""
        return [_document(found) for found in await self._repair(definition).unreadable(pairs)]

    async def replace(self, definition: Definition, key: str, request: web.BaseRequest) -> Object:
        """Replace an object by the bytes of the body, or create it (`resourceVersion=0`); with `encode=true`, in the storage version.

        Raises:
            StatusError: 400 also if the bytes cannot be read, and the converter's error.
        """
        expected, data = _revision(request), await read_body(request, MAX_BODY_BYTES)
        try:
            encode = request.query.get("encode") == "true"
            revision = await self._repair(definition).replace(key, data, revision=expected, encode=encode)
        except CorruptObjectError as error:
            raise errors.bad_request(f"the new bytes of {key} cannot be read: {error.message}") from error
        except (KeyNotFoundError, InvalidObjectError) as error:
            raise _refusal(error, definition, key) from error
        _LOG.warning("stored object replaced", user=request[USER].name, definition=definition.name, key=key, revision=revision)
        return {"key": key, "resourceVersion": str(revision)}

    async def delete(self, definition: Definition, key: str, request: web.BaseRequest) -> Object:
        """Delete an unreadable object.

        Raises:
            StatusError: 409 also if the object is readable.
        """
        try:
            await self._repair(definition).delete(key, revision=_revision(request))
        except (KeyNotFoundError, InvalidObjectError) as error:
            raise _refusal(error, definition, key) from error
        _LOG.warning("stored object deleted", user=request[USER].name, definition=definition.name, key=key)
        return {"key": key}

    def _repair(self, definition: Definition) -> Repair:
        served = self._cache.storage_version(self._cache.info(definition))
        return self._cache.stores.repair(definition.resource, served.codec, self._cache.guards.for_repairs(definition))


def _revision(request: web.BaseRequest) -> int:
    text = request.query.get("resourceVersion", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise errors.bad_request("resourceVersion must be the revision of the stored object")
    return int(text)


def _refusal(error: KeyNotFoundError | InvalidObjectError, definition: Definition, key: str) -> errors.StatusError:
    if isinstance(error, KeyNotFoundError):
        return errors.not_found(definition.resource, key)
    return errors.conflict(definition.resource, key, error.message)


def _document(found: UnreadableObject) -> Object:
    return {
        "key": found.key,
        "apiVersion": found.api_version,
        "resourceVersion": str(found.revision),
        "size": found.size,
        "message": found.problem,
    }


@dataclass(frozen=True, slots=True)
class StoredProblem:
    """A stored object that a write would refuse, or that is unreadable."""

    key: str
    api_version: str
    """The version in the stored bytes, "" if it is unknown."""
    is_decodable: bool
    message: str

    def as_json(self) -> Object:
        """Return the problem in the form of the document `/stored/invalid`."""
        state = "invalid" if self.is_decodable else "undecodable"
        return {"key": self.key, "apiVersion": self.api_version, "state": state, "message": self.message}


async def find_problems_remotely(link: ServerLink, place: VersionPlace, stored: Sequence[tuple[str, bytes]]) -> list[StoredProblem]:
    """Run `find_problems` in a worker process."""
    return await find_problems(cast("ResourceRest", kept_version(link, place)[1].scopes[""].rest), stored)


async def find_problems(rest: ResourceRest, stored: Sequence[tuple[str, bytes]]) -> list[StoredProblem]:
    """Return the problems of stored objects, given by key, after conversion to the storage version, that of `rest`."""
    problems: list[StoredProblem] = []
    for (key, data), obj in zip(stored, await _read(rest.codec, [data for _, data in stored]), strict=True):
        if isinstance(obj, Exception):
            message = str(obj)
        else:
            found = rest.strategy.validate(RequestContext(), obj)
            message = field.aggregate(field.limited(found)) if found else ""
        if message:
            is_decodable = not isinstance(obj, Exception)
            problems.append(StoredProblem(key, stored_object.api_version(data), is_decodable=is_decodable, message=_short(message)))
    return problems


async def _read(codec: Codec, stored: Sequence[bytes]) -> list[Object | Exception]:
    """Return stored objects, converted together to the storage version. An error stands in the place of each unreadable one."""
    found: list[Object | Exception] = []
    for data in stored:
        try:
            found.append(codec.decode(_OPENER.open("", data)))
        except (EncryptedObjectError, *DECODING_ERRORS) as error:
            found.append(error)
    if codec.conversion is not None:
        converted = iter(await codec.conversion.from_storage([obj for obj in found if not isinstance(obj, Exception)]))
        found = [obj if isinstance(obj, Exception) else next(converted) for obj in found]
    return found


def _short(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}..."


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """The parameters of a page, and the user whose turn it takes in the worker processes."""

    query: Mapping[str, str]
    user: str = ""


RollCall = Callable[[], Awaitable["Sequence[Replica]"]]
"""Returns the servers on the store. Raises BackendError."""

_Answer = Callable[["Definition", StoredQuestion], Awaitable["Object"]]


class StoredDocuments:
    """Makes the documents. `workers` validate objects."""

    def __init__(self, catalog: Catalog, cache: ServingCache, workers: WorkerPool, servers: RollCall | None = None) -> None:
        """Create the documents. `servers` asks the running servers on the store; None without any."""
        self._servers = servers
        self._catalog = catalog
        self._cache = cache
        self._workers = workers
        self._repairs = StoredRepairs(cache)
        self._places = asyncio.Semaphore(_TOGETHER)
        self._answers: Mapping[str, _Answer] = {
            "versions": self._versions,
            "invalid": self._invalid,
            "unreadable": self._unreadable,
            "objects": self._objects,
        }

    async def get(self, path: Sequence[str], question: StoredQuestion) -> Object:
        """Return the document at a path below `/stored/`, given by its segments.

        Raises:
            StatusError: it does not exist (404), or the store cannot be read.
        """
        what, *rest = path
        if what == "servers" and not rest and self._servers is not None:
            return await _described(self._servers)
        if what not in self._answers or (not rest and what != "versions"):
            raise errors.path_not_found()
        try:
            async with self._places:
                if not rest:
                    return await self._all(question)
                if not rest[1:]:
                    return await self._answers[what](self._definition(rest[0]), question)
                return await self._object(*self.object_at(path))
        except StorageFailure as error:
            raise interpret(error, resource=_DEFINITIONS, operation="get", name=rest[0] if rest else "") from error

    def object_at(self, path: Sequence[str]) -> tuple[Definition, str]:
        """Return the definition and the key of the object at a path.

        Raises:
            StatusError: 404 if there is no such definition, or the path is not that of an object.
        """
        what, name, *key = path
        definition = self._definition(name)
        if what != "objects" or len(key) != (2 if definition.namespaced else 1):
            raise errors.path_not_found()
        return definition, "/".join(key)

    def _definition(self, name: str) -> Definition:
        definition = self._catalog.get(name)
        if definition is None:
            raise errors.not_found(_DEFINITIONS, name)
        return definition

    async def _all(self, question: StoredQuestion) -> Object:
        pages = _Pages(question)
        found = [definition for definition in self._catalog.all() if definition.name > pages.after]
        items = [await self._versions(definition, question) for definition in found[: pages.limit]]
        return {"items": items, "continue": items[-1]["name"] if len(found) > pages.limit else ""}

    async def _versions(self, definition: Definition, _question: StoredQuestion) -> Object:
        return stored_report(definition, await self._stored(definition).counts())

    async def _invalid(self, definition: Definition, question: StoredQuestion) -> Object:
        items: list[Object] = []
        examined = 0
        pages = _Pages(question)
        async for pairs in pages.of(self._stored(definition)):
            examined += len(pairs)
            items += await self._problems(definition, pairs, question.user)
        return {"items": items, "checked": examined, "continue": pages.after}

    async def _unreadable(self, definition: Definition, question: StoredQuestion) -> Object:
        key, pages = question.query.get("key", ""), _Pages(question)
        if key:
            pair = await self._stored(definition).get(key)
            return {"items": await self._repairs.unreadable(definition, [pair]) if pair is not None else [], "continue": ""}
        items = [item async for pairs in pages.of(self._stored(definition)) for item in await self._repairs.unreadable(definition, pairs)]
        return {"items": items, "continue": pages.after}

    async def _problems(self, definition: Definition, pairs: Sequence[KeyValue], user: str) -> list[Object]:
        """Validate in a worker process: expensive rules and conversions then do not delay other requests, and end with this one."""
        if not pairs:
            # without objects, the schema is not compiled
            return []
        remote = self._cache.storage_version(self._cache.info(definition)).scopes[""].remote
        if remote is None:
            raise AssertionError("custom resources have copies of their scopes in worker processes")
        prefix = self._cache.stores.key_prefix(definition.resource)
        found: list[StoredProblem] = []
        for batch in _batches(pairs):
            stored = [(pair.key.removeprefix(prefix), pair.value) for pair in batch]
            found += await remote.inspect(self._workers, find_problems_remotely, stored, user=user)
        return [problem.as_json() for problem in found]

    async def _objects(self, definition: Definition, question: StoredQuestion) -> Object:
        prefix, pages = self._cache.stores.key_prefix(definition.resource), _Pages(question)
        items: list[Object] = []
        pace = Pace()
        async for pairs in pages.of(self._stored(definition)):
            for pair in pairs:
                # an apiVersion that is not at the beginning takes milliseconds to find
                await pace.checkpoint()
                items.append(_about(pair, prefix))
        return {"items": items, "continue": pages.after}

    async def _object(self, definition: Definition, key: str) -> Object:
        pair = await self._stored(definition).get(key)
        if pair is None:
            raise errors.not_found(definition.resource, key)
        about = _about(pair, self._cache.stores.key_prefix(definition.resource))
        return about | {"data": await _base64(pair.value)}

    def _stored(self, definition: Definition) -> StoredVersions:
        return self._cache.stores.stored_versions(definition.resource)


async def _base64(data: bytes) -> str:
    """Encode data in time slices."""
    view = memoryview(data)
    parts = [base64.b64encode(view[at : at + _ENCODED_BYTES]) async for at in paced(range(0, len(data), _ENCODED_BYTES))]
    return b"".join(parts).decode("ascii")


async def _described(roll_call: RollCall) -> Object:
    """Return the servers on the store. Raises StatusError."""
    try:
        servers = await roll_call()
    except StorageFailure as error:
        raise interpret(error, resource=_DEFINITIONS, operation="get") from error
    items = [
        {
            "id": server.id,
            "address": server.address,
            "release": server.release,
            "started": server.started,
            "versions": {name: encoding.version for name, encoding in sorted(server.encodings.items())},
        }
        for server in servers
    ]
    return {"items": items, "continue": ""}


class _Pages:
    """One page of entries."""

    def __init__(self, question: StoredQuestion) -> None:
        """Read the parameters. Raises StatusError."""
        text = question.query.get("limit", "") or str(_DEFAULT_ENTRIES)
        if not (text.isascii() and text.isdecimal() and len(text) < 9 and int(text)):
            raise errors.bad_request("limit must be a positive number")
        self.limit = min(int(text), MAX_ENTRIES)
        self.after = question.query.get("continue", "")
        """The last entry before the page; then its own last one, "" if no others follow."""

    async def of(self, stored: StoredVersions) -> AsyncGenerator[Sequence[KeyValue]]:
        """Yield the page's objects in pieces that fit into memory. End the page early after much time or many bytes."""
        loop = asyncio.get_running_loop()
        end, left, room, size = loop.time() + _PAGE_SECONDS, self.limit, MAX_PAGE_BYTES, PageLimit()
        while left and room > 0 and loop.time() < end:
            pairs, self.after = await stored.page(self.after, min(left, _PIECE, size.keys))
            yield pairs
            if not self.after:
                return
            left -= len(pairs)
            room -= sum(len(pair.value) for pair in pairs)
            size.adapt(pairs)


def _batches(pairs: Sequence[KeyValue]) -> Iterator[Sequence[KeyValue]]:
    """Yield the objects in batches of a limited size. A larger object is a batch of its own."""
    first, size = 0, 0
    for place, pair in enumerate(pairs):
        size += len(pair.value)
        if size > _JOB_BYTES and place > first:
            yield pairs[first:place]
            first, size = place, len(pair.value)
    if pairs:
        yield pairs[first:]


def _about(pair: KeyValue, prefix: str) -> Object:
    return {
        "key": pair.key.removeprefix(prefix),
        "apiVersion": stored_object.api_version(pair.value),
        "resourceVersion": str(pair.revision),
        "encoding": stored_object.encoding(pair.value),
        "size": len(pair.value),
    }


class StoredHandler:
    """Answers requests for the paths below `/stored/`."""

    def __init__(self, catalog: Catalog, cache: ServingCache, workers: WorkerPool, servers: RollCall | None = None) -> None:
        self._documents = StoredDocuments(catalog, cache, workers, servers)
        self._repairs = StoredRepairs(cache)
        self._stores = cache.stores

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request.

        Raises:
            StatusError: the definition or object does not exist (404), another method (405), or the store cannot be used.
        """
        path = request.path.split("/")[2:]
        if not path or "" in path:
            return text_reply("404 page not found", status=404)
        return Reply(_parts(await self._document(request, path)))

    async def _document(self, request: web.BaseRequest, path: list[str]) -> Object:
        if request.method == hdrs.METH_GET:
            return await self._documents.get(path, StoredQuestion(request.query, request[USER].name))
        if path[0] == "objects" and path[2:] and request.method in (hdrs.METH_PUT, hdrs.METH_DELETE):
            definition, key = self._documents.object_at(path)
            repair = self._repairs.replace if request.method == hdrs.METH_PUT else self._repairs.delete
            try:
                return await repair(definition, key, request)
            except StorageFailure as error:
                raise interpret(error, resource=definition.resource, operation="repair", name=key) from error
        if path == ["reencrypt"] and request.method == hdrs.METH_POST:
            return await self._reencrypt(request)
        raise errors.StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})

    async def _reencrypt(self, request: web.BaseRequest) -> Object:
        try:
            page = await reencrypt_page(self._stores.backend, self._stores.prefix, request.query.get("continue", ""))
        except StorageFailure as error:
            raise interpret(error, resource=_DEFINITIONS, operation="reencrypt") from error
        _LOG.info("stored values encrypted again", user=request[USER].name, written=page.written, examined=page.examined)
        return {"examined": page.examined, "written": page.written, "unreadable": page.unreadable, "continue": page.after}


def _parts(document: Object) -> list[bytes]:
    """Return a document as JSON. Insert the objects' bytes unchanged: base64 needs no escapes."""
    data = document.pop("data", "")
    text = json_codec.dumps(document, sort_keys=False)
    return [text[:-1], b',"data":"', data.encode("ascii"), b'"}\n'] if data else [text, b"\n"]
