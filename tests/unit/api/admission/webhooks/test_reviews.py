"""Calls of webhooks over HTTP: their time, their connections, and what a silent webhook delays."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from apiext.api.admission.sources import HookEntry, ReviewCall, Revision
from apiext.api.admission.webhooks.reviews import HookReviews
from apiext.base.meta import limits
from apiext.base.webhook import circuit_breaker as waiting_calls
from apiext.base.webhook.client_config import ClientConfig
from apiext.base.webhook.hook_answers import HookError
from apiext.base.webhook.hook_client import HookClient, HookClients
from apiext.resources.conversion.factory import read_certificate
from tests.support.admission_webhook import AdmissionWebhook
from tests.support.event_loop import until
from tests.support.refusals import refusal
from tests.support.scripted_webhook import HANG, Reply
from tests.unit.api.admission.webhooks.hooks import hook


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[AdmissionWebhook]:
    """Run a webhook that allows everything."""
    with AdmissionWebhook(tmp_path) as running:
        yield running


@pytest.fixture
async def reviews() -> AsyncIterator[HookReviews]:
    """Return a caller."""
    caller = HookReviews(HookClients({}, read_certificate))
    yield caller
    await caller.close()


def call(webhook: AdmissionWebhook, name: str = "a", seconds: float = 10.0, **config: Any) -> ReviewCall:
    """Return a call of a webhook, which must end in some seconds."""
    entry = HookEntry(Revision("u", "1"), "conf", f"conf/{name}/0", hook(name, clientConfig=webhook.client_config("x", name) | config))
    body = b'{"apiVersion":"admission.k8s.io/v1","request":{"uid":"u"}}'
    return ReviewCall(entry, name, "u", body, time.monotonic() + seconds)


async def test_answers(reviews: HookReviews, webhook: AdmissionWebhook) -> None:
    """Return the answers in the order of the calls. The webhook learns the time that it has, in whole seconds."""
    webhook.answers["b"] = lambda _: Reply(b"{}", code=418)

    found = await reviews.review([call(webhook, "a", 2.5), call(webhook, "b")])

    assert found[0].data.startswith(b'{"apiVersion"')
    assert str(found[1].error) == (
        "failed to call webhook: the server responded with the status code 418 but did not return more information"
    )
    assert isinstance(found[1].error, HookError)
    assert found[1].error.code == 418
    assert {one.hook: one.query for one in webhook.calls} == {"a": "timeout=3s", "b": "timeout=10s"}


async def test_connections_are_kept(reviews: HookReviews, webhook: AdmissionWebhook) -> None:
    """Calls of webhooks at different paths of a server share its connections."""
    for name in ("a", "b", "a"):
        await reviews.review([call(webhook, name)])

    assert webhook.connections == 1


async def test_redirects_are_refused(reviews: HookReviews, webhook: AdmissionWebhook) -> None:
    """Call no other server for a webhook. kube-apiserver follows redirects, also into its own network (CVE-2020-8561)."""
    webhook.answers["a"] = lambda _: Reply(code=307, headers={"Location": webhook.url("x", "b")})

    (found,) = await reviews.review([call(webhook, "a")])

    assert str(found.error) == f'failed to call webhook: Post "{webhook.url("x", "b")}": redirects are not followed'
    assert [one.hook for one in webhook.calls] == ["a"]


async def test_no_time(reviews: HookReviews, webhook: AdmissionWebhook) -> None:
    """A call whose time is over is not made; one that takes longer than its time fails."""
    webhook.answers["slow"] = lambda _: HANG

    (late,) = await reviews.review([call(webhook, "a", -1.0)])
    (slow,) = await reviews.review([call(webhook, "slow", 0.2)])

    assert str(late.error) == "failed to call webhook: context deadline exceeded"
    assert str(slow.error) == f'failed to call webhook: Post "{webhook.url("x", "slow")}?timeout=1s": context deadline exceeded'
    assert [one.hook for one in webhook.calls] == ["slow"]
    assert 0.1 < slow.seconds < 5


async def test_bad_configurations(reviews: HookReviews, webhook: AdmissionWebhook) -> None:
    """A configuration that names no server or authority fails without a call."""
    (found,) = await reviews.review([call(webhook, caBundle="bm9uZQ==")])

    assert str(found.error) == ("could not get REST client: unable to load root certificates: no valid certificate authority data seen")


async def test_silent_webhooks(reviews: HookReviews, webhook: AdmissionWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """When many writes wait for a webhook that is silent, further ones fail at once. Other webhooks are called."""
    monkeypatch.setattr(waiting_calls, "MAX_WAITING", 3)
    monkeypatch.setattr(waiting_calls, "PATIENCE_SECONDS", 0.0)
    webhook.answers["silent"] = lambda _: HANG
    waiting = [asyncio.ensure_future(reviews.review([call(webhook, "silent")])) for _ in range(3)]
    await until(lambda: len(webhook.calls) == 3)

    caught = await refusal(reviews.review([call(webhook, "a"), call(webhook, "silent")]))
    (other,) = await reviews.review([call(webhook, "other")])

    assert (caught.code, caught.retry_after) == (429, 1)
    assert other.error is None
    webhook.release()
    for one in waiting:
        (answer,) = await one
        assert str(answer.error).endswith("EOF")


async def test_places(reviews: HookReviews, webhook: AdmissionWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook has a limited number of connections; further calls wait, at most for their time."""
    monkeypatch.setattr("apiext.api.admission.webhooks.reviews.MAX_HOOK_CALLS", 2)
    webhook.answers["silent"] = lambda _: HANG
    waiting = [asyncio.ensure_future(reviews.review([call(webhook, "silent")])) for _ in range(2)]
    await until(lambda: len(webhook.calls) == 2)

    (late,) = await reviews.review([call(webhook, "silent", 0.1)])

    assert str(late.error) == "failed to call webhook: context deadline exceeded"
    assert webhook.connections == 2
    webhook.release()
    await asyncio.gather(*waiting)


async def test_few_addresses_are_kept(reviews: HookReviews, webhook: AdmissionWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connections to the addresses called latest are kept."""
    monkeypatch.setattr("apiext.api.admission.webhooks.reviews.MAX_HOOK_CLIENTS", 2)
    made, client = list[str](), HookClients.client

    def noted(clients: HookClients, config: ClientConfig, **settings: Any) -> HookClient:
        made.append(config.url.name)
        return client(clients, config, **settings)

    monkeypatch.setattr(HookClients, "client", noted)
    for name in ("a", "b", "c", "c", "b", "a"):
        await reviews.review([call(webhook, name)])

    assert made == ["a", "b", "c", "a"]
    assert limits.MAX_HOOK_CLIENTS == 200
