"""Parameters of policies from the host."""

from collections.abc import AsyncIterator

import pytest

from apiext.api.admission.sources import NotReadyError, ParamQuery
from apiext.server.host.admission_sources import HostParams, ParamKind
from apiext.server.host.discovery import HostDiscovery
from tests.support.event_loop import until, until_answered
from tests.support.refusals import refusal
from tests.support.servers.object_host import ObjectHost

CONFIG_MAPS = "/api/v1/configmaps"
CONFIG_MAP = ParamKind("v1", "ConfigMap")


@pytest.fixture
async def host() -> AsyncIterator[ObjectHost]:
    """Provide a host with ConfigMaps."""
    async with ObjectHost() as host:
        host.serve("/api/v1", "configmaps", "ConfigMap", namespaced=True)
        yield host


@pytest.fixture
async def params(host: ObjectHost) -> AsyncIterator[HostParams]:
    """Provide the parameters of the host."""
    params = HostParams(host.client, HostDiscovery(host.client.ask), ready_wait=30.0)
    yield params
    await params.close()


def named(name: str, namespace: str = "n") -> ParamQuery:
    """Return a query for a ConfigMap."""
    return ParamQuery("v1", "ConfigMap", namespace, name)


async def test_reads_objects_of_the_informer(host: ObjectHost, params: HostParams) -> None:
    """Return objects by name and selector from one list and one watch, in their latest state."""
    host.put(CONFIG_MAPS, "a", "n", data={"x": "1"}, metadata={"labels": {"env": "test"}})
    [found] = await params.params(named("a"))
    assert found["data"] == {"x": "1"}

    await until(lambda: f"watch {CONFIG_MAPS}" in host.asked)
    host.put(CONFIG_MAPS, "b", "n", metadata={"labels": {"env": "test"}})

    async def has_both() -> bool:
        return len(await params.params(ParamQuery("v1", "ConfigMap", "n", selector="env=test"))) == 2

    await until_answered(has_both)
    assert host.asked.count(f"get {CONFIG_MAPS}") == 1


async def test_looks_up_unseen_objects(host: ObjectHost, params: HostParams) -> None:
    """Ask the host for an object that no event has shown; return nothing for a missing one."""
    await params.params(ParamQuery("v1", "ConfigMap", "n"))
    host.put(CONFIG_MAPS, "late", "n", silent=True, data={"x": "2"}, kind="ConfigMap", apiVersion="v1")

    [found] = await params.params(named("late"))

    assert (found["data"], "kind" in found) == ({"x": "2"}, False)
    assert await params.params(named("missing")) == []
    assert host.asked[-2:] == ["get /api/v1/namespaces/n/configmaps/late", "get /api/v1/namespaces/n/configmaps/missing"]


async def test_reports_a_refused_lookup(host: ObjectHost, params: HostParams) -> None:
    """Raise the host's error where it refuses the lookup of an object."""
    await params.params(ParamQuery("v1", "ConfigMap", "n"))
    host.refused.add("/api/v1/namespaces/n/configmaps/a")

    assert (await refusal(params.params(named("a")))).code == 403


async def test_reports_a_refused_list(host: ObjectHost) -> None:
    """Raise NotReadyError where the host refuses the list, and name the kind as not listed."""
    host.refused.add(CONFIG_MAPS)
    params = HostParams(host.client, HostDiscovery(host.client.ask), ready_wait=0.01)
    try:
        with pytest.raises(NotReadyError):
            await params.params(named("a"))
        assert params.unlisted == ["ConfigMap of v1"]
    finally:
        await params.close()


async def test_finds_kinds(host: ObjectHost, params: HostParams) -> None:
    """Tell the scope of kinds, and find a kind that the host serves later."""
    host.serve("/apis/example.com/v1", "limits", "Limit")
    assert [await params.is_namespaced(*kind) for kind in (CONFIG_MAP, ("example.com/v1", "Limit"))] == [True, False]
    assert [await params.is_namespaced(*kind) for kind in (("example.com/v1", "Other"), ("later.com/v1", "Late"))] == [None, None]

    host.serve("/apis/later.com/v1", "lates", "Late", namespaced=True)
    host.put("/apis/later.com/v1/lates", "one", "n", apiVersion="later.com/v1", kind="Late")

    async def is_known() -> bool:
        return await params.is_namespaced("later.com/v1", "Late") is not None

    await until_answered(is_known)
    [found] = await params.params(ParamQuery("later.com/v1", "Late", "n", "one"))
    assert found["kind"] == "Late"


async def test_follows_used_kinds_only(host: ObjectHost, params: HostParams) -> None:
    """List a kind when a policy uses it, and end its watch when none does any more."""
    host.put(CONFIG_MAPS, "a", "n")
    params.use([CONFIG_MAP])
    await until(lambda: f"watch {CONFIG_MAPS}" in host.asked)
    params.use([CONFIG_MAP])
    params.use([])
    params.use([CONFIG_MAP])
    await until(lambda: host.asked.count(f"watch {CONFIG_MAPS}") == 2)

    assert len(await params.params(named("a"))) == 1
