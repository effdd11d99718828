"""A server that follows a host, both in the test's own process."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any, Self

from apiext.definitions.sources.host_cluster import KubeSource
from apiext.meta.host_annotations import HOST_REVISION
from apiext.meta.selectors import parse_label_selector
from apiext.server.host.definition_mirror import MirrorWriter
from apiext.server.host.definitions import HostDefinitions, Identity
from apiext.storage.host_records import HostRecords
from tests.support.servers.fake_host import FakeHost
from tests.support.servers.in_process import CRDS, InProcess, definition

NAME = "widgets.example.com"
ONE = f"{CRDS}/{NAME}"
SERVED = {"serve": "yes"}


def crd(plural: str = "widgets", kind: str = "Widget", **metadata: Any) -> dict[str, Any]:
    """A definition of the host, selected unless its labels say otherwise."""
    found = definition(plural, kind)
    found["metadata"] |= {"labels": SERVED} | metadata
    return found


def short_named(found: dict[str, Any], *names: str) -> dict[str, Any]:
    """The definition with short names."""
    changed = copy.deepcopy(found)
    changed["spec"]["names"]["shortNames"] = list(names)
    return changed


class Replica:
    """One server's share of following a host."""

    def __init__(self, host: FakeHost, server: InProcess) -> None:
        self.host = host
        self.server = server
        self.client = host.client()
        identity = Identity(self.client, HostRecords(server.backend, "/registry"))
        self.rest = server.definitions.scopes[""].rest
        self.source = KubeSource(
            self.client,
            parse_label_selector("serve=yes"),
            catalog=server.catalog,
            mirrors=MirrorWriter(self.rest),
            confirm=identity.confirm,
            shortest=0.01,
        )
        self.definitions = HostDefinitions(self.source, server.catalog)

    async def __aenter__(self) -> Self:
        self.source.start()
        await self.source.begun()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.source.close()
        await self.client.close()

    async def mirror(self) -> dict[str, Any]:
        """The mirror of the widgets."""
        return dict((await self.server.ask("GET", ONE)).json)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when a condition holds."""
        async with asyncio.timeout(30):
            while not condition():  # noqa: ASYNC110 -- much may change it
                await asyncio.sleep(0.005)

    def shows(self, *names: str) -> bool:
        """Whether the widgets have such short names here."""
        found = self.server.catalog.get(NAME)
        return found is not None and found.head["spec"]["names"].get("shortNames", []) == list(names)

    async def stays(self) -> None:
        """Return when another change of the host has been dealt with."""
        await self.host.put(crd("markers", "Marker", annotations={"at": str(self.host.revision)}))
        stamp = str(self.host.revision)
        await self.until(lambda: annotations_of(self.server, "markers.example.com").get(HOST_REVISION) == stamp)


def annotations_of(server: InProcess, name: str = NAME) -> dict[str, str]:
    """The annotations of a definition there, none where there is none."""
    found = server.catalog.get(name)
    return dict(found.head["metadata"].get("annotations") or {}) if found else {}
