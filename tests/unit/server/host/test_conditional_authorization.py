"""Mode FrontProxy and hosts that authorize with conditions."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.api.authorization import conditional
from apiext.api.authorization.conditional import DISCOVERY, HAS_GATE, METRICS, SERVES_REVIEWS
from apiext.base.scheduling.tasks import run_until_closed
from apiext.base.webhook.client import WebhookClient
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.server.host import conditional_authorization
from apiext.server.host.conditional_authorization import HostConditions
from tests.support.event_loop import until

_REVIEWS = {"kind": "APIResourceList", "resources": [{"name": "authorizationconditionsreviews"}]}
_GATE = 'a 1\nkubernetes_feature_enabled{name="ConditionalAuthorization",stage="ALPHA"} %d\nb 2\n'


@dataclass
class Host:
    """A host with canned answers by path; others are 404."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    conditions: HostConditions = field(init=False)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer with text or JSON, or with a status code."""
        self.asked.append(request.path)
        found = self.answers.get(request.path, 404)
        if isinstance(found, int):
            return web.Response(status=found)
        return web.Response(text=found) if isinstance(found, str) else web.json_response(found)


@pytest_asyncio.fixture
async def host() -> AsyncIterator[Host]:
    """Start a host."""
    state = Host()
    async with RawTestServer(state.answer) as server, AsyncExitStack() as stack:
        client = WebhookClient(Endpoint(url=str(server.make_url("")).rstrip("/"), context=None))
        stack.push_async_callback(client.close)
        state.conditions = HostConditions(client)
        yield state


@pytest.mark.parametrize(
    "answers, found",
    [
        ({}, ""),
        ({METRICS: 403}, ""),
        ({METRICS: _GATE % 0}, ""),
        ({METRICS: _GATE % 1}, HAS_GATE),
        ({DISCOVERY: _REVIEWS}, SERVES_REVIEWS),
        ({DISCOVERY: {"resources": [{"name": "others"}]}, METRICS: _GATE % 1}, HAS_GATE),
        ({DISCOVERY: "no JSON"}, ""),
    ],
)
async def test_asks_the_host(host: Host, answers: dict[str, Any], found: str) -> None:
    """Find the gate in discovery or in metrics. A host that answers neither has no conditions; until it answers, it may have."""
    assert host.conditions.reason
    host.answers = answers

    await host.conditions.read()

    assert (host.conditions.found, host.conditions.reason) == (found, found)


async def test_does_not_trust_a_host_before_it_answers() -> None:
    """Keep the reason while the host does not answer."""
    client = WebhookClient(Endpoint(url="http://127.0.0.1:1", context=None))
    conditions = HostConditions(client)

    await conditions.read()
    await client.close()

    assert (conditions.found, bool(conditions.reason)) == ("", True)


async def test_follows_the_host(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """See that the host gets the gate, and loses it; read its metrics less often than its discovery."""
    monkeypatch.setattr(conditional_authorization, "LOOK_SECONDS", 0.001)
    conditions = host.conditions
    async with AsyncExitStack() as stack:
        run_until_closed(stack, conditions.follow())
        await until(lambda: not conditions.reason)
        host.answers = {DISCOVERY: _REVIEWS}
        await until(lambda: conditions.reason == SERVES_REVIEWS)
        host.answers = {METRICS: _GATE % 1}
        await until(lambda: conditions.reason == HAS_GATE)
        host.answers = {}
        await until(lambda: not conditions.reason)

    assert host.asked.count(conditional.METRICS) < host.asked.count(conditional.DISCOVERY) / 3
