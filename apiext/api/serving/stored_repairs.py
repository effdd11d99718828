"""Repairs of unreadable stored objects, for the paths below `/stored/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.handlers.body import read_body
from apiext.api.endpoints.request import USER
from apiext.base.meta import errors
from apiext.base.meta.limits import MAX_BODY_BYTES
from apiext.base.meta.log import get_logger
from apiext.storage.errors import CorruptObjectError, InvalidObjectError, KeyNotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import web

    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.backend import KeyValue
    from apiext.storage.stored_bytes.repair import Repair
    from apiext.storage.stored_object import UnreadableObject

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
