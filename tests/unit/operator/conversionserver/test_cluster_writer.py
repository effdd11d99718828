"""The statuses that the leader writes."""

import asyncio
from typing import Any, cast

import pytest

from apiext.base.scheduling.tasks import end_tasks
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator.api_clients import CRDS, ApiClient, ApiError
from apiext.operator.conversionserver.cluster_writer import CONVERSIONS, ClusterWriter, ConversionStatusWriter
from apiext.operator.conversionserver.installation import Installation
from hack.lib.conversions.gadgets import gadget_crd, gadget_rules
from tests.support.event_loop import until
from tests.unit.operator.conversionserver.parts import NAME, TARGET, Followed, Json, crd, webhook_conversion

GROUP = "convert.example.com"
GADGETS = f"gadgets.{GROUP}"


class Host(ApiClient):
    """A host with CRDs that notes patches."""

    def __init__(self, crds: dict[str, Json]) -> None:
        super().__init__(Endpoint(url="http://memory", context=None))
        self.crds = crds
        self.patches: list[tuple[str, Any]] = []
        self.error: ApiError | None = None

    async def find(self, path: str) -> Json | None:
        """Return a CRD."""
        return self.crds.get(path.removeprefix(f"{CRDS}/"))

    async def patch(self, path: str, body: Json) -> Json:
        """Note a patch."""
        if self.error is not None:
            raise self.error
        self.patches.append((path, body))
        return body


class NoInstallation:
    """Stands for the installation, and notes changes."""

    def __init__(self) -> None:
        self.changed: list[str] = []

    async def run(self) -> None:
        """Wait for ever."""
        await asyncio.get_running_loop().create_future()

    def on_change(self, name: str) -> None:
        """Note a change."""
        self.changed.append(name)


async def test_writes_statuses() -> None:
    """Write the status of the Conversion objects that are there and of changed ones, while the session runs."""
    followed, host = Followed(), Host({GADGETS: gadget_crd(GROUP)})
    rules = gadget_rules(GROUP)
    rules["metadata"] |= {"generation": 1}
    followed.objects.changed(rules)
    installation = NoInstallation()
    backend = ConversionStatusWriter(host, TARGET, followed.definitions, followed.conversions)
    writer = ClusterWriter(cast("Installation", installation), backend, followed.objects)

    running = asyncio.create_task(writer.run())
    await until(lambda: host.patches)
    followed.objects.changed({**rules, "spec": {**rules["spec"], "hub": "v9"}, "metadata": {**rules["metadata"], "generation": 2}})
    writer.on_change(GADGETS)
    await until(lambda: len(host.patches) == 2)
    followed.objects.deleted(rules)
    writer.on_change(GADGETS)
    await end_tasks(running)
    writer.on_change(GADGETS)

    paths, statuses = zip(*host.patches, strict=True)
    assert set(paths) == {f"{CONVERSIONS}/{GADGETS}/status"}
    valid = [{one["type"]: one["status"] for one in found["status"]["conditions"]}["Valid"] for found in statuses]
    assert valid == ["True", "False"]
    # what a status does not have any more is removed
    assert statuses[0]["status"]["problems"] is None
    assert installation.changed == [GADGETS] * 3


async def test_ignores_deleted_objects() -> None:
    """Ignore that an object is gone, and report other failures."""
    host, followed = Host({}), Followed()
    writer = ConversionStatusWriter(host, TARGET, followed.definitions, followed.conversions)
    host.error = ApiError("not found", code=404)
    await writer.write_status(NAME, {})
    host.error = ApiError("not now", code=500)
    with pytest.raises(ApiError):
        await writer.write_status(NAME, {})


async def test_usage() -> None:
    """Say whether spec.conversion of the CRD calls the webhook, and why not."""
    followed = Followed()
    writer = ConversionStatusWriter(Host({}), TARGET, followed.definitions, followed.conversions)

    def reason() -> tuple[bool, str]:
        usage = writer.usage(NAME)
        return usage.is_used, usage.reason

    assert reason() == (False, "NotRequested")
    await followed.put(crd("webhook"))
    assert reason() == (False, "Pending")
    await followed.put(crd(conversion=webhook_conversion(TARGET.client_config())))
    assert reason() == (True, "Webhook")
