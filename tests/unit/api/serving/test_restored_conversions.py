"""Restoration of older objects into a running server, beside the Conversion that they need."""

import json
from collections.abc import Iterator
from typing import Any

from apiext.api.serving.stored_conversions import StoredConversions
from apiext.base.webhook.client import WebhookClient
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.resources.conversion.rules.definition import conversion_definition
from apiext.server.composition.conversion_status import StoredStatuses
from apiext.tools.backup.server_target import ServerTarget
from tests.support.builders.converted_widgets import NAME, conversion, old_widget, widgets_crd
from tests.support.servers.in_process import InProcess

DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions/"
_CONDITIONS = [{"type": each, "status": "True", "observedGeneration": 1, "reason": "Served", "message": ""} for each in ("Valid", "InUse")]
MARKED: dict[str, Any] = {"conditions": _CONDITIONS}


def _pairs() -> Iterator[tuple[str, bytes]]:
    """Yield an object of the old version before the Conversion."""
    metadata = {"uid": "1", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    for crd in (widgets_crd(), conversion_definition()):
        yield f"{DEFINITIONS}{crd['metadata']['name']}", json.dumps(crd).encode()
    widget = old_widget(size=3)
    widget["metadata"] |= metadata
    yield "example.com/widgets/default/a", json.dumps(widget).encode()
    rules = conversion() | {"status": MARKED}
    yield f"conversions.apiext.dev/conversions/{NAME}", json.dumps(rules | {"metadata": {"name": NAME} | metadata}).encode()


async def test_objects_are_converted_by_restored_rules() -> None:
    """Restore Conversions first, and other objects once the server converts by them."""
    async with InProcess() as server:
        statuses = StoredStatuses(server.catalog, server.cache)
        stored = StoredConversions(server.catalog, server.cache, server.converters.known, statuses)
        await stored.start()
        client = WebhookClient(Endpoint(url=server.url(""), context=None))
        outcome = await ServerTarget(client, replace=False).restore(_pairs)
        found = (await server.ask("GET", "/apis/example.com/v2/namespaces/default/widgets/a")).json
        await client.close()
        await stored.close()
        await statuses.close()

    assert (outcome.created, outcome.failed) == (2, [])
    assert found["spec"] == {"capacity": 3}
