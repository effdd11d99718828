"""Validates stored objects by the schema and rules of the current storage version, as for a create."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from apiext.meta import field
from apiext.registry.request_context import RequestContext
from apiext.serving.remote.remote_scopes import VersionPlace, kept_version
from apiext.storage import stored_object
from apiext.storage.errors import EncryptedObjectError
from apiext.storage.rendering.renderer import DECODING_ERRORS, Renderer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.encoding.json_codec import Object
    from apiext.registry.rest import ResourceRest
    from apiext.storage.interface import Codec
    from apiext.workers.server_link import ServerLink

_OPENER: Final = Renderer("")
_MAX_CHARACTERS: Final = 500
"""Characters of a problem: an object may violate its schema in many places."""


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
            message = field.aggregate(field.limited(errors)) if (errors := rest.strategy.validate(RequestContext(), obj)) else ""
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
