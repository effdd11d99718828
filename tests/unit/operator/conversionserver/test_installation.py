"""The leader's writes to CRDs and events, on a host that stores CRDs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from apiext.base.scheduling.tasks import end_tasks
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator.api_clients import CRDS, ApiClient, ApiError
from apiext.operator.ca_bundle import CABundleSource
from apiext.operator.conversionserver.cluster_objects import WEBHOOK, XRDS
from apiext.operator.conversionserver.conversions import MadeConverter
from apiext.operator.conversionserver.installation import MAX_WRITES, Installation
from apiext.operator.reporting.event_recorder import EventRecorder
from tests.support.event_loop import until
from tests.unit.operator.conversionserver.parts import (
    CLAIM,
    NAME,
    TARGET,
    Followed,
    Json,
    Renaming,
    ca_bundle,
    conversion,
    crd,
    owned,
    webhook_conversion,
    xrd,
)

EVENTS = "/api/v1/namespaces/default/events"


class Host(ApiClient):
    """A host that stores CRDs, passes them on, and notes events."""

    kind = "CustomResourceDefinition"
    """The kind that events are about."""

    def __init__(self, followed: Followed) -> None:
        super().__init__(Endpoint(url="http://memory", context=None))
        self.followed = followed
        self.paths: list[str] = []
        self.events: list[tuple[str, str]] = []
        self.errors: list[ApiError] = []

    async def find(self, path: str) -> Json | None:
        """Return a CRD."""
        return self.followed.full.get(path.removeprefix(f"{CRDS}/"))

    async def patch(self, path: str, body: Json) -> Json:
        """Change spec.conversion of a CRD."""
        self.paths.append(path)
        if self.errors:
            raise self.errors.pop()
        found = self.followed.full[NAME]
        assert body["metadata"] == {"resourceVersion": found["metadata"]["resourceVersion"]}
        changed = {**found, "spec": {**found["spec"], "conversion": merged(found["spec"]["conversion"], body["spec"]["conversion"])}}
        changed["metadata"] = {**found["metadata"], "resourceVersion": str(int(found["metadata"]["resourceVersion"]) + 1)}
        await self.followed.put(changed)
        return changed

    async def post(self, path: str, body: Json) -> Json:
        """Note an event."""
        assert path == EVENTS
        self.events.append((body["reason"], body["message"]))
        assert body["involvedObject"]["kind"] == self.kind
        assert body["reportingComponent"] == "apiext-conversions"
        return body

    @property
    def conversion(self) -> Json:
        """Return spec.conversion of the CRD."""
        found: Json = self.followed.full[NAME]["spec"]["conversion"]
        return found


class Source(CABundleSource):
    """A CA bundle that notes what is distributed."""

    def __init__(self) -> None:
        super().__init__()
        self.distributed: list[str] = []

    def mark_distributed(self, bundle: str) -> None:
        """Note the bundle."""
        self.distributed.append(bundle)


def merged(before: Any, patch: Any) -> Any:
    """Return the result of a merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(before) if isinstance(before, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


@asynccontextmanager
async def installing(followed: Followed, source: CABundleSource, host: Host, *, needs_bundle: bool = True) -> AsyncIterator[Installation]:
    """Run a leader's session."""
    recorder = EventRecorder(host, instance="me", component="apiext-conversions")
    session = Installation(
        host, TARGET, followed.definitions, followed.conversions, source=source, recorder=recorder, needs_bundle=needs_bundle
    )
    followed.crds.synced.set()
    running = asyncio.create_task(session.run())
    try:
        yield session
    finally:
        await end_tasks(running)


@pytest.fixture
def source() -> Source:
    """Provide a bundle that is known."""
    found = Source()
    found.publish("one")
    return found


def ours(bundle: str) -> Json:
    """Return spec.conversion with a CA bundle."""
    return webhook_conversion({**TARGET.client_config(), "caBundle": ca_bundle(bundle)})


async def test_sets_and_restores_the_conversion(source: Source) -> None:
    """Set spec.conversion of a CRD that asks for it, with an event, and again when someone changes it."""
    followed = Followed()
    host = Host(followed)
    await followed.put(crd(WEBHOOK), conversion())

    async with installing(followed, source, host) as session:
        await until(lambda: host.conversion == ours("one"))
        assert host.paths == [f"{CRDS}/{NAME}?fieldManager=apiext-conversions"]
        await until(lambda: host.events)
        assert host.events == [("ConversionStrategyChanged", "spec.conversion.strategy was None and is now Webhook.")]

        await followed.put({**followed.full[NAME], "spec": {**followed.full[NAME]["spec"], "conversion": {"strategy": "None"}}})
        session.on_change(NAME)
        await until(lambda: host.conversion == ours("one"))


async def test_gives_way_to_a_client_that_insists(source: Source) -> None:
    """Restore spec.conversion a few times, then wait, with an event."""
    followed = Followed()
    host = Host(followed)
    await followed.put(crd(WEBHOOK), conversion())

    async with installing(followed, source, host) as session:
        for number in range(MAX_WRITES):
            await until(lambda: host.conversion == ours("one"))
            await until(lambda: len(host.paths) == number + 1)  # noqa: B023 -- called at once
            found = followed.full[NAME]
            await followed.put({**found, "spec": {**found["spec"], "conversion": {"strategy": "None"}}})
            session.on_change(NAME)
        await until(lambda: "ConversionContested" in dict(host.events))
    assert host.conversion == {"strategy": "None"}


async def test_follows_the_ca_bundle(source: Source) -> None:
    """Write a new CA bundle to all CRDs that call the webhook, and say when they have it."""
    followed = Followed()
    host = Host(followed)
    await followed.put(crd(WEBHOOK), conversion())

    async with installing(followed, source, host) as session:
        await until(lambda: host.conversion == ours("one"))
        session.on_change(NAME)
        await until(lambda: source.distributed == ["one"])
        source.publish("two one")
        await until(lambda: host.conversion == ours("two one"))
        await until(lambda: source.distributed == ["one", "two one"])


async def test_waits_for_the_ca_bundle() -> None:
    """Write nothing before the CA bundle is known: calls would fail."""
    followed, source = Followed(), Source()
    host = Host(followed)
    await followed.put(crd(WEBHOOK), conversion())

    async with installing(followed, source, host) as session:
        session.on_change(NAME)
        assert host.paths == []
        source.publish("one")
        await until(lambda: host.conversion == ours("one"))


async def test_leaves_the_ca_bundle_to_others() -> None:
    """Write no caBundle where another program does."""
    followed, source = Followed(), Source()
    host = Host(followed)
    await followed.put(crd(WEBHOOK), conversion())

    async with installing(followed, source, host, needs_bundle=False):
        await until(lambda: host.conversion == webhook_conversion(TARGET.client_config()))


async def test_retries(source: Source) -> None:
    """Try again after a refused write."""
    followed = Followed()
    host = Host(followed)
    host.errors = [ApiError("not now", code=500)]
    await followed.put(crd(WEBHOOK), conversion())

    async with installing(followed, source, host):
        await until(lambda: host.conversion == ours("one"))
    assert len(host.paths) == 2


def _invalid(_crd: Json, _conversion: Json, **_: bool) -> MadeConverter:
    return MadeConverter(Renaming(), "spec.hub: no such version")


async def test_reports_invalid_rules(source: Source) -> None:
    """Leave a CRD alone whose rules cannot be used, with an event that says why."""
    followed = Followed(_invalid)
    host = Host(followed)
    await followed.put(crd(WEBHOOK), conversion())

    async with installing(followed, source, host):
        await until(lambda: host.events)
    assert host.events == [("ConversionRulesInvalid", f"Conversion {NAME}: spec.hub: no such version")]
    assert host.conversion == {"strategy": "None"}


async def test_reports_a_deleted_conversion(source: Source) -> None:
    """Leave the webhook in place when its Conversion object is deleted, with an event: None would lose fields."""
    followed = Followed()
    host = Host(followed)
    await followed.put(crd(WEBHOOK, conversion=ours("one")))

    async with installing(followed, source, host):
        await until(lambda: host.events)
    message = f"There is no Conversion {NAME}. Its objects cannot be read in other versions."
    assert host.events == [("ConversionMissing", message)]
    assert host.conversion == ours("one")


async def test_gives_the_strategy_none_back(source: Source) -> None:
    """Set None where the CRD asks for it."""
    followed = Followed()
    host = Host(followed)
    await followed.put(crd("none", conversion=ours("one")), conversion())

    async with installing(followed, source, host):
        await until(lambda: host.conversion == {"strategy": "None"})


class CrossplaneHost(Host):
    """A host on which Crossplane copies spec.conversion of an XRD to its CRDs."""

    kind = "CompositeResourceDefinition"

    def __init__(self, followed: Followed, xrd: Json) -> None:
        super().__init__(followed)
        self.xrd = xrd
        followed.xrds.changed(xrd)

    async def find(self, path: str) -> Json | None:
        """Return the XRD."""
        assert path == f"{XRDS}/{NAME}"
        return self.xrd

    async def patch(self, path: str, body: Json) -> Json:
        """Change the XRD, and its CRDs."""
        self.paths.append(path)
        self.xrd = merged(self.xrd, body)
        self.followed.xrds.changed(self.xrd)
        for name in (NAME, CLAIM):
            found = self.followed.full[name]
            made = self.xrd["spec"].get("conversion") or {"strategy": "None"}
            await self.followed.put({**found, "spec": {**found["spec"], "conversion": made}})
        return self.xrd


async def test_changes_the_xrd(source: Source) -> None:
    """Set spec.conversion of an XRD once both of its CRDs have rules: Crossplane takes back a change of its CRDs."""
    followed = Followed()
    host = CrossplaneHost(followed, xrd(WEBHOOK))
    await followed.put(owned(crd()), owned(crd(name=CLAIM)), conversion())

    async with installing(followed, source, host) as session:
        await until(lambda: ("ConversionMissing", f"There is no Conversion {CLAIM}.") in host.events)
        assert host.paths == []

        await followed.put(conversion(name=CLAIM))
        session.on_change(CLAIM)
        await until(lambda: host.conversion == ours("one"))
        assert host.paths == [f"{XRDS}/{NAME}?fieldManager=apiext-conversions"]
        await until(lambda: source.distributed == ["one"])


@pytest.mark.parametrize("is_there", [True, False], ids=["changed", "gone"])
async def test_does_not_wait_for_crds_that_nobody_keeps(source: Source, *, is_there: bool) -> None:
    """Publish a new CA bundle although a CRD keeps the old one: its XRD is gone, or calls no webhook, and Crossplane does nothing."""
    followed = Followed()
    host = CrossplaneHost(followed, xrd("none"))
    if not is_there:
        followed.xrds.deleted(host.xrd)
    await followed.put(owned(crd(conversion=ours("zero"))), conversion())

    async with installing(followed, source, host):
        await until(lambda: source.distributed == ["one"])
    assert host.conversion == ours("zero")


async def test_gives_the_conversion_of_an_xrd_back(source: Source) -> None:
    """Remove spec.conversion where an XRD asks for none: an XRD may not name the strategy None."""
    followed = Followed()
    host = CrossplaneHost(followed, xrd("none", conversion=ours("one")))
    await followed.put(owned(crd(conversion=ours("one"))), owned(crd(name=CLAIM, conversion=ours("one"))), conversion())

    async with installing(followed, source, host):
        await until(lambda: host.conversion == {"strategy": "None"})
    assert "conversion" not in host.xrd["spec"]
