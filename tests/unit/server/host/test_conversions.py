"""Conversions from the host."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import pytest

from apiext.resources.conversion.known import KnownConversions
from apiext.server.host.conversions import NOT_LISTED, HostConversions, follow_host_conversions
from apiext.storage.replicas.host_records import HostRecords
from tests.support.builders.converted_widgets import NAME, conversion
from tests.support.event_loop import until, until_answered
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.object_host import ObjectHost

GROUP: Final = "/apis/conversions.apiext.dev/v1alpha1"
CONVERSIONS: Final = f"{GROUP}/conversions"


@pytest.fixture
async def host() -> AsyncIterator[ObjectHost]:
    """Provide a host without any kinds."""
    async with ObjectHost() as host:
        yield host


@pytest.fixture
def records() -> HostRecords:
    """Provide the records of an empty store."""
    return HostRecords(MemoryBackend(), "/registry")


@asynccontextmanager
async def following(host: ObjectHost, records: HostRecords) -> AsyncIterator[tuple[KnownConversions, HostConversions]]:
    """Follow the host's Conversions, which are not known at first."""
    known = KnownConversions()
    known.missing = NOT_LISTED
    async with AsyncExitStack() as stack:
        yield known, await follow_host_conversions(host.client, known, records, stack)


async def test_follows_the_host(host: ObjectHost, records: HostRecords) -> None:
    """Know the host's Conversions after the first list, and each change."""
    host.serve(GROUP, "conversions", "Conversion")
    host.put(CONVERSIONS, NAME, spec=conversion()["spec"])
    async with following(host, records) as (known, follower):
        assert known.missing == NOT_LISTED
        await until(lambda: follower.synced and f"watch {CONVERSIONS}" in host.asked)
        assert (known.missing, [one.document["spec"] for one in known]) == ("", [conversion()["spec"]])
        host.put(CONVERSIONS, NAME, spec={"hub": "v3"})
        await until(lambda: [one.document["spec"] for one in known] == [{"hub": "v3"}])
        host.remove(CONVERSIONS, NAME)
        await until(lambda: known.of(NAME) is None)


async def test_a_host_without_conversions(host: ObjectHost, records: HostRecords) -> None:
    """Convert without rules on a host that does not serve Conversions."""
    async with following(host, records) as (known, follower):
        await until(lambda: follower.synced)

        assert (known.missing, list(known)) == ("", [])


async def _is_remembered(records: HostRecords) -> bool:
    return bool((await records.get("host-conversions") or {}).get("items"))


async def test_the_store_remembers(host: ObjectHost, records: HostRecords) -> None:
    """Use the Conversions that the host had when a server starts without the host, and none before the first list."""
    host.serve(GROUP, "conversions", "Conversion")
    host.refused.add(GROUP)
    async with following(host, records) as (known, _):
        assert known.missing == NOT_LISTED
    host.refused.clear()
    host.put(CONVERSIONS, NAME, spec=conversion()["spec"], metadata={"managedFields": []})
    async with following(host, records) as (known, _):
        await until(lambda: known.of(NAME) is not None)
        await until_answered(lambda: _is_remembered(records))
    host.refused.add(GROUP)
    async with following(host, records) as (known, follower):
        assert (known.missing, follower.synced) == ("", False)
        assert [(one.name, one.document["spec"]) for one in known] == [(NAME, conversion()["spec"])]
