"""Restores custom resources into a running server of apiext, as bytes: uids are kept, and nothing is validated."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding import json_codec
from apiext.base.scheduling.backoff import Backoff
from apiext.resources.conversion.rules.model import API_VERSION, GROUP, PLURAL, VALID
from apiext.resources.evaluation.definition_creation import from_stored_bytes
from apiext.storage import stored_object
from apiext.storage.backups.stored_pairs import BackupError, rounds_after_owners
from apiext.tools.backup.logical_pairs import KEYS_OF_DEFINITIONS, is_established
from apiext.tools.backup.patient_client import PatientClient, message_of
from apiext.tools.releases.cluster_connection import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.client import WebhookClient

_GVK: Final = CUSTOM_RESOURCE_DEFINITIONS.kind
_CONVERSIONS: Final = f"{GROUP}/{PLURAL}/"
"""Start of the keys of Conversions."""
_CONVERSION_PATH: Final = f"/apis/{API_VERSION}/{PLURAL}"
_TOGETHER: Final = 16
"""Concurrent requests."""
_ESTABLISHED_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.1
_MAX_PAUSE_SECONDS: Final = 2.0
_KEPT_METADATA: Final = ("name", "labels", "annotations")


@dataclass(slots=True)
class ServerOutcome:
    """The outcome of a restoration into a server."""

    created: int = 0
    replaced: int = 0
    unchanged: int = 0
    """Objects that the server has already; without `replace`, whatever their content."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Number of stored values by resource that are not custom resources of the backup's definitions."""
    failed: list[str] = field(default_factory=list)
    """A line for each object that the server refused."""
    others: list[str] = field(default_factory=list)
    """Objects that a server has and the backup does not, if they were looked for."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The collection of a definition's objects."""

    definition: str
    storage_version: str
    """As apiVersion."""


class ServerTarget:
    """Writes through the server's paths below `/stored/`, as `apiext rescue` does."""

    def __init__(self, client: WebhookClient, *, replace: bool) -> None:
        """Create a target. With `replace`, objects that differ are replaced; other objects of the server stay."""
        self._client = PatientClient(client)
        self._replace = replace
        self._places: dict[str, _Place] = {}
        self._outcome = ServerOutcome()

    async def restore(self, pairs: Callable[[], Iterator[tuple[str, bytes]]]) -> ServerOutcome:
        """Create missing definitions, Conversions, then other objects, owners before their dependents.

        `pairs` yields the keys, relative to the prefix, at each call.

        Raises:
            BackupError: the server does not answer, is not apiext, refuses a definition, or does not use a Conversion.
        """
        conversions = []
        for key, value in pairs():
            if key.startswith(KEYS_OF_DEFINITIONS):
                await self._define(value)
            elif key.startswith(_CONVERSIONS):
                conversions.append((key, value))
        for key, value in conversions:
            await self._put_conversion(key, value)
        later = rounds_after_owners(pairs())
        dependents = frozenset[str]().union(*later)
        await self._put_all((key, value) for key, value in pairs() if key not in dependents)
        for keys in later:
            await self._put_all((key, value) for key, value in pairs() if key in keys)
        return self._outcome

    async def _put_all(self, pairs: Iterator[tuple[str, bytes]]) -> None:
        """Put the objects among pairs: neither definitions nor Conversions."""
        objects = ((key, value) for key, value in pairs if not key.startswith((KEYS_OF_DEFINITIONS, _CONVERSIONS)))
        while batch := list(islice(objects, _TOGETHER)):
            await asyncio.gather(*(self._put(key, value) for key, value in batch))

    async def _define(self, value: bytes) -> None:
        """Create a definition unless it exists, and wait until the server serves it."""
        try:
            crd = from_stored_bytes(value)
        except (ValueError, TypeError, KeyError) as error:
            raise BackupError(f"the backup has an unreadable definition: {error}") from error
        spec, name = crd["spec"], crd["metadata"]["name"]
        metadata = {member: crd["metadata"][member] for member in _KEPT_METADATA if crd["metadata"].get(member)}
        draft = {"apiVersion": _GVK.api_version, "kind": _GVK.kind, "metadata": metadata, "spec": spec}
        code, answer = await self._client.ask("POST", DEFINITIONS, json_codec.dumps(draft))
        if code not in (200, 201, 409):
            raise BackupError(f"the server refuses the definition {name}: {message_of(answer)}")
        found = await self._wait_until_served(name)
        version = next(version["name"] for version in found["spec"]["versions"] if version["storage"])
        place = f"{spec['group']}/{spec['names']['plural']}"
        self._places[place] = _Place(name, f"{spec['group']}/{version}")

    async def _wait_until_served(self, name: str) -> Object:
        backoff = Backoff(_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)
        try:
            async with asyncio.timeout(_ESTABLISHED_SECONDS):
                while True:
                    found = await self._served(name)
                    if found is not None:
                        return found
                    await backoff.pause()
        except TimeoutError as error:
            raise BackupError(f"the server does not serve {name}: its definition is not established") from error

    async def _served(self, name: str) -> Object | None:
        """Return a definition once it is established and its stored objects can be reached."""
        code, crd = await self._client.ask("GET", f"{DEFINITIONS}/{name}")
        if code != 200 or not is_established(crd):
            return None
        code, answer = await self._client.ask("GET", f"/stored/objects/{name}?limit=1")
        if code == 404 and answer.get("kind") != "Status":
            raise BackupError(
                "the server is not apiext: --server must name apiext's own address; a store of kube-apiserver is restored with etcd's tools"
            )
        if code != 200:
            raise BackupError(f"the server does not give access to stored objects: {message_of(answer)}")
        found: Object = crd
        return found

    async def _put_conversion(self, key: str, value: bytes) -> None:
        """Create a Conversion, and wait until the server knows it: older objects are converted by it, and would lose fields without it."""
        unchecked = _unchecked(value)
        before = self._outcome.created + self._outcome.replaced
        await self._put(key, unchecked or value)
        if not unchecked or self._outcome.created + self._outcome.replaced == before:
            return
        backoff, name = Backoff(_PAUSE_SECONDS, _MAX_PAUSE_SECONDS), key.removeprefix(_CONVERSIONS)
        try:
            async with asyncio.timeout(_ESTABLISHED_SECONDS):
                while not _is_checked((await self._client.ask("GET", f"{_CONVERSION_PATH}/{quote(name)}"))[1]):
                    await backoff.pause()
        except TimeoutError as error:
            raise BackupError(f"the server does not use the Conversion {name}") from error

    async def _put(self, key: str, value: bytes) -> None:
        group, plural, name = ([*key.split("/", 2), "", ""])[:3]
        place = self._places.get(f"{group}/{plural}")
        if place is None or not name:
            self._outcome.skipped[f"{plural}.{group}" if "." in group else group] += 1
            return
        path = f"/stored/objects/{place.definition}/{quote(name)}"
        code, answer = await self._write(path, value, place, 0)
        if code == 200:
            self._outcome.created += 1
        elif code != 409:
            self._outcome.failed.append(f"{key}: {message_of(answer)}")
        elif not self._replace:
            self._outcome.unchanged += 1
        else:
            await self._overwrite(key, path, value, place)

    async def _overwrite(self, key: str, path: str, value: bytes, place: _Place) -> None:
        code, present = await self._client.ask("GET", path)
        if code == 200 and base64.b64decode(present["data"]) == value:
            self._outcome.unchanged += 1
            return
        if code == 200:
            code, present = await self._write(path, value, place, int(present["resourceVersion"]))
        if code == 200:
            self._outcome.replaced += 1
        else:
            self._outcome.failed.append(f"{key}: {message_of(present)}")

    async def _write(self, path: str, value: bytes, place: _Place, revision: int) -> tuple[int, Any]:
        # the server's definition names the storage version only as stored
        encode = "" if stored_object.api_version(value) == place.storage_version else "&encode=true"
        return await self._client.ask("PUT", f"{path}?resourceVersion={revision}{encode}", value)


def _unchecked(value: bytes) -> bytes:
    """Return a stored Conversion without the condition that the server sets once it knows it; empty for a malformed one."""
    try:
        found = stored_object.loads(value)
        status = found.get("status") or {}
        conditions = [one for one in status.get("conditions") or () if one["type"] != VALID]
        return json_codec.dumps(found | {"status": status | {"conditions": conditions}}) + b"\n"
    except (ValueError, TypeError, KeyError, AttributeError):
        return b""


def _is_checked(conversion: Object) -> bool:
    return any(one["type"] == VALID for one in (conversion.get("status") or {}).get("conditions") or ())
