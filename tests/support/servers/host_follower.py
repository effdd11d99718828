"""A server that follows a host, both in the test process."""

import copy
from typing import Any, Self

from apiext.base.meta.host_annotations import HOST_REVISION
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.server.host.definition_mirror import MirrorWriter
from apiext.server.host.definition_source import HostClusterSource
from apiext.server.host_definitions import HostDefinitions, Identity
from apiext.storage.replicas.host_records import HostRecords
from tests.support.builders.crds import widget_crd
from tests.support.event_loop import until
from tests.support.servers.fake_host import FakeHost
from tests.support.servers.in_process import CRDS, InProcess

NAME = "widgets.example.com"
ONE = f"{CRDS}/{NAME}"
SERVED = {"serve": "yes"}


def crd(plural: str = "widgets", kind: str = "Widget", **metadata: Any) -> dict[str, Any]:
    """Return a definition of the host. The selector matches it unless its labels are replaced."""
    found = widget_crd(plural, kind)
    found["metadata"] |= {"labels": SERVED} | metadata
    return found


def short_named(found: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the definition with other short names."""
    changed = copy.deepcopy(found)
    changed["spec"]["names"]["shortNames"] = list(names)
    return changed


class Replica:
    """The host-following part of a server."""

    def __init__(self, host: FakeHost, server: InProcess) -> None:
        self.host = host
        self.server = server
        self.client = host.client()
        identity = Identity(self.client, HostRecords(server.backend, "/registry"))
        self.source = HostClusterSource(
            self.client,
            parse_label_selector("serve=yes"),
            catalog=server.catalog,
            mirrors=MirrorWriter(server.definitions.scopes[""], server.workers),
            confirm=identity.confirm,
            min_pause=0.01,
        )
        self.definitions = HostDefinitions(self.source, server.catalog)

    async def __aenter__(self) -> Self:
        self.source.start()
        await self.source.wait_until_processed()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.source.close()
        await self.client.close()

    async def mirror(self) -> dict[str, Any]:
        """Return the mirror of the widgets definition."""
        return dict((await self.server.ask("GET", ONE)).json)

    def shows(self, *names: str) -> bool:
        """Report whether the server's definition of widgets has these short names."""
        found = self.server.catalog.get(NAME)
        return found is not None and found.head["spec"]["names"].get("shortNames", []) == list(names)

    async def wait_for_later_change(self) -> None:
        """Return once the replica has processed a later change of the host."""
        await self.host.put(crd("markers", "Marker", annotations={"at": str(self.host.revision)}))
        stamp = str(self.host.revision)
        await until(lambda: annotations_of(self.server, "markers.example.com").get(HOST_REVISION) == stamp)


def annotations_of(server: InProcess, name: str = NAME) -> dict[str, str]:
    """Return the annotations of a definition on the server, none if it is missing."""
    found = server.catalog.get(name)
    return dict(found.head["metadata"].get("annotations") or {}) if found else {}
