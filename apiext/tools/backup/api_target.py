"""Restores custom resources through the API of any server, such as kube-apiserver, which gives new objects uids of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from apiext.base.meta.encoding import json_codec
from apiext.resources.evaluation.definition_creation import from_stored_bytes
from apiext.storage import stored_object
from apiext.storage.backups.stored_pairs import BackupError, rounds_after_owners
from apiext.tools.backup.logical_pairs import KEYS_OF_DEFINITIONS
from apiext.tools.backup.patient_client import PatientClient, message_of
from apiext.tools.backup.server_target import ServerOutcome
from apiext.tools.releases.cluster_connection import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.client import WebhookClient

_TOGETHER: Final = 16
"""Concurrent requests."""
_KEPT_METADATA: Final = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
_PAGE: Final = 500


@dataclass(slots=True)
class _Collection:
    """The objects of a definition of the server."""

    group: str
    plural: str
    version: str
    """A served version."""
    with_status: frozenset[str]
    """The served versions with the subresource status."""
    names: set[str] = field(default_factory=set)
    """The names of the objects of the backup, as NAMESPACE/NAME."""

    def at(self, version: str, namespace: str = "", name: str = "") -> str:
        """Return the path of an object, or of a collection."""
        scope = f"namespaces/{quote(namespace)}/" if namespace else ""
        return f"/apis/{self.group}/{version}/{scope}{self.plural}{f'/{quote(name)}' if name else ''}"


class ApiTarget:
    """Writes objects as a client does: they are validated, and admitted by webhooks and policies."""

    def __init__(self, client: WebhookClient, *, replace: bool) -> None:
        """Create a target. With `replace`, objects that the server has are replaced, and keep their uids; otherwise they stay."""
        self._client = PatientClient(client)
        self._replace = replace
        self._collections: dict[str, _Collection] = {}
        self._uids: dict[str, str] = {}
        """The server's uids by those in the backup."""
        self._outcome = ServerOutcome()

    async def restore(self, pairs: Callable[[], Iterator[tuple[str, bytes]]]) -> ServerOutcome:
        """Write the objects, owners before their dependents, and look for objects that only the server has.

        `pairs` yields the keys, relative to the prefix, at each call.

        Raises:
            BackupError: the server does not answer, or does not serve a definition of the backup.
        """
        for key, value in pairs():
            if key.startswith(KEYS_OF_DEFINITIONS):
                await self._find(value)
        later = rounds_after_owners(pairs())
        dependents = frozenset[str]().union(*later)
        await self._put_all((key, value) for key, value in pairs() if key not in dependents)
        for keys in later:
            await self._put_all((key, value) for key, value in pairs() if key in keys)
        for collection in self._collections.values():
            await self._look_for_others(collection)
        return self._outcome

    async def _find(self, value: bytes) -> None:
        """Remember how the server serves a definition of the backup."""
        try:
            name, group = (crd := from_stored_bytes(value))["metadata"]["name"], crd["spec"]["group"]
        except (ValueError, TypeError, KeyError) as error:
            raise BackupError(f"the backup has an unreadable definition: {error}") from error
        code, found = await self._client.ask("GET", f"{DEFINITIONS}/{name}")
        if code != 200:
            raise BackupError(f"the server does not serve {name}; create its definition first: {message_of(found)}")
        served = [version for version in found["spec"]["versions"] if version["served"]]
        if not served:
            raise BackupError(f"the server serves no version of {name}")
        with_status = frozenset(version["name"] for version in served if "status" in (version.get("subresources") or {}))
        plural = found["spec"]["names"]["plural"]
        self._collections[f"{group}/{plural}"] = _Collection(group, plural, served[0]["name"], with_status)

    async def _put_all(self, pairs: Iterator[tuple[str, bytes]]) -> None:
        objects = ((key, value) for key, value in pairs if not key.startswith(KEYS_OF_DEFINITIONS))
        while batch := list(islice(objects, _TOGETHER)):
            await asyncio.gather(*(self._put(key, value) for key, value in batch))

    async def _put(self, key: str, value: bytes) -> None:
        group, plural, name = ([*key.split("/", 2), "", ""])[:3]
        collection = self._collections.get(f"{group}/{plural}")
        if collection is None or not name:
            self._outcome.skipped[f"{plural}.{group}" if "." in group else group] += 1
            return
        collection.names.add(name)
        try:
            obj = stored_object.loads(value)
            metadata, version = obj["metadata"], obj["apiVersion"].partition("/")[2]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            self._outcome.failed.append(f"{key}: it cannot be read: {error}")
            return
        if "deletionTimestamp" in metadata:
            self._outcome.failed.append(f"{key}: it was being deleted")
            return
        await self._write(key, collection, version, obj)

    async def _write(self, key: str, collection: _Collection, version: str, obj: Object) -> None:
        metadata, draft = obj["metadata"], self._draft(obj)
        namespace = metadata.get("namespace", "")
        path = collection.at(version, namespace, metadata["name"])
        code, found = await self._client.ask("POST", collection.at(version, namespace), json_codec.dumps(draft))
        created, before = code == 201, ""
        if code == 409:
            code, found = await self._client.ask("GET", path)
        if code in (200, 201):
            self._uids[metadata.get("uid", "")] = found["metadata"]["uid"]
            if not created and not self._replace:
                self._outcome.unchanged += 1
                return
            before = found["metadata"]["resourceVersion"]
            if not created:
                code, found = await self._client.ask("PUT", path, _at(draft, found))
            if code in (200, 201) and "status" in obj and version in collection.with_status:
                code, found = await self._client.ask("PUT", f"{path}/status", _at(draft, found))
        if code not in (200, 201):
            self._outcome.failed.append(f"{key}: {message_of(found)}")
        elif created:
            self._outcome.created += 1
        elif found["metadata"]["resourceVersion"] == before:
            self._outcome.unchanged += 1
        else:
            self._outcome.replaced += 1

    def _draft(self, obj: Object) -> Object:
        """Return an object without what a server sets, its owners by their new uids."""
        metadata = {name: obj["metadata"][name] for name in _KEPT_METADATA if name in obj["metadata"]}
        if "ownerReferences" in metadata:
            references = metadata["ownerReferences"]
            metadata["ownerReferences"] = [one | {"uid": self._uids.get(one["uid"], one["uid"])} for one in references]
        return obj | {"metadata": metadata}

    async def _look_for_others(self, collection: _Collection) -> None:
        following = ""
        while True:
            query = urlencode({"limit": _PAGE} | ({"continue": following} if following else {}))
            code, page = await self._client.ask("GET", f"{collection.at(collection.version)}?{query}")
            if code != 200:
                raise BackupError(f"the server does not list {collection.plural}.{collection.group}: {message_of(page)}")
            names = ("/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"]))) for one in page["items"])
            self._outcome.others += [f"{collection.plural}.{collection.group} {name}" for name in names if name not in collection.names]
            following = page["metadata"].get("continue", "")
            if not following:
                return


def _at(draft: Object, found: Object) -> bytes:
    """Return a draft that replaces an object of the server."""
    metadata = draft["metadata"] | {"resourceVersion": found["metadata"]["resourceVersion"]}
    return json_codec.dumps(draft | {"metadata": metadata})
