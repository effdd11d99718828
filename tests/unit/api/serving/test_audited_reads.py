"""What the handler of resources tells the audit event of a read."""

import time

import pytest

from apiext.api.audit.context import AuditContext
from apiext.api.endpoints.request import AUDIT
from apiext.api.serving.builtin.endpoints import BuiltinEndpoints
from apiext.api.serving.handler import ResourceHandler
from tests.support.builders.crds import widget_crd
from tests.support.conversion_webhook import ConversionWebhook
from tests.support.servers.in_process import InProcess
from tests.unit.api.filters.conftest import ADMIN, Exchange


@pytest.mark.parametrize("converts", [True, False])
async def test_conversions(server: InProcess, webhook: ConversionWebhook, *, converts: bool) -> None:
    """Measure how long a read waits for the store where it may wait for a conversion webhook, too."""
    await server.define(widget_crd(served=("v1", "v2"), conversion=webhook.conversion() if converts else None))
    handler = ResourceHandler(server.catalog, server.cache, BuiltinEndpoints(()), server.workers)
    done = Exchange("GET", "/apis/example.com/v2/namespaces/default/widgets/a", {}, user=ADMIN, peer=None)
    done.request[AUDIT] = audit = AuditContext("an-id", time.time_ns())
    audit.is_read = True
    await done.through(handler)

    assert done.status == 404
    assert (audit.store_times is not None, audit.is_read) == (converts, not converts)
