"""Which conversion rules the servers of a store use."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from apiext.base.scheduling.tasks import run_until_closed
from apiext.resources.conversion.known import KnownConversion, KnownConversions, Origin
from apiext.server.composition.rules_in_use import RecordedRules
from apiext.storage.replicas.host_records import HostRecords
from tests.support.builders.converted_widgets import NAME, conversion
from tests.support.event_loop import until, until_answered
from tests.support.servers.memory_backend import MemoryBackend


class _Server:
    """What a server knows of conversions."""

    def __init__(self) -> None:
        self.known = KnownConversions()
        self.known.put(Origin.FILE, conversion())
        self.changes: list[str | None] = []
        self.known.subscribe(self.changes.append)

    @property
    def rules(self) -> KnownConversion:
        """Return the rules of the definition."""
        found = self.known.of(NAME)
        assert found is not None
        return found


@asynccontextmanager
async def _server(records: HostRecords) -> AsyncIterator[_Server]:
    server = _Server()
    async with AsyncExitStack() as stack:
        recorded = RecordedRules(server.known, records)
        await recorded.recall()
        run_until_closed(stack, recorded.run())
        yield server


async def test_servers_share_what_is_in_use() -> None:
    """Use the rules of another server that a problem would stop here, after a restart and while both run; forget deleted ones."""
    records = HostRecords(MemoryBackend(), "/registry")

    async def recorded() -> bool:
        return (await records.get("conversion-rules-in-use") or {}) == {NAME: first.rules.digest}

    async with _server(records) as first, _server(records) as second:
        first.known.in_use.begin(first.rules)
        await until_answered(recorded)
        async with _server(records) as restarted:
            assert restarted.known.is_in_use(restarted.rules)
        assert not second.known.is_in_use(second.rules)
        second.known.in_use.refuse(second.rules)
        await until(lambda: second.known.is_in_use(second.rules))
        assert second.changes == [NAME]

        first.known.remove(Origin.FILE, NAME)
        first.known.put(Origin.FILE, conversion(name="others.example.com"))
        other = first.known.of("others.example.com")
        assert other is not None
        first.known.in_use.begin(other)

        async def forgotten() -> bool:
            return await records.get("conversion-rules-in-use") == {"others.example.com": other.digest}

        await until_answered(forgotten)
