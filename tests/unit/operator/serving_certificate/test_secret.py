"""The Secret of the servers' certificate, against a host with one object."""

import asyncio
import base64
import datetime
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import pytest

from apiext.base.cert import certificate
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator.api_clients import ApiClient, ApiError
from apiext.operator.names import NamespacedName
from apiext.operator.serving_certificate import secret as module
from apiext.operator.serving_certificate.secret import OVERLAP_SECONDS, PROPAGATION_SECONDS, ServingSecret, TrustBundle, certificate_hosts

DAY: Final = 86400.0
START: Final = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
PATH: Final = "/api/v1/namespaces/apiext-system/secrets"


class Host(ApiClient):
    """A host that stores the Secret, and reports its changes."""

    def __init__(self) -> None:
        super().__init__(Endpoint(url="http://memory", context=None))
        self.secret: dict[str, Any] | None = None
        self.writes = 0
        self.seconds = 0.0
        self.errors: list[ApiError] = []
        self.client: Any = self
        self.on_change: Callable[[], None] = lambda: None

    async def find(self, path: str) -> dict[str, Any] | None:
        """Return the Secret."""
        assert path == f"{PATH}/apiext-serving"
        return self.secret

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create the Secret."""
        assert path == PATH
        if self.secret is not None:
            raise ApiError("it is there", code=409)
        return self.change({**body, "metadata": {**body["metadata"], "resourceVersion": "0"}})

    async def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Replace the Secret."""
        assert path == f"{PATH}/apiext-serving"
        if self.errors:
            raise self.errors.pop()
        assert self.secret is not None
        assert body["metadata"]["resourceVersion"] == self.secret["metadata"]["resourceVersion"]
        return self.change(body)

    def change(self, secret: dict[str, Any] | None) -> dict[str, Any]:
        """Write as another client."""
        self.writes += 1
        if secret is not None:
            secret = {**secret, "metadata": {**secret["metadata"], "resourceVersion": str(self.writes)}}
        self.secret = secret
        self.on_change()
        return secret or {}

    def text(self, field: str) -> str:
        """Return the text of a key."""
        assert self.secret is not None
        return base64.b64decode(self.secret["data"].get(field, "")).decode()

    def opened(self, *, manage: bool = True) -> ServingSecret:
        """Return the ServingSecret of an operator, which sees the writes from now on."""
        return ServingSecret(
            self,
            NamespacedName("apiext-system", "apiext-serving"),
            hosts=certificate_hosts(NamespacedName("apiext-system", "apiext"), ""),
            manage=manage,
            moment=lambda: START + datetime.timedelta(seconds=self.seconds),
            clock=lambda: self.seconds,
        )


class _Reflector:
    """Reports the changes of a host to its follower."""

    def __init__(self, host: Host, _collection: str, follower: Any) -> None:
        host.on_change = partial(follower.changed, {})

    async def run(self) -> None:
        """Wait."""
        await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def _watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Reflector", _Reflector)


@asynccontextmanager
async def _running(serving: ServingSecret) -> AsyncIterator[None]:
    task = asyncio.create_task(serving.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_creates_the_secret() -> None:
    """Create the Secret for the names of the Service, and publish its authority."""
    host = Host()
    serving = host.opened()

    async with _running(serving):
        bundle = await serving.changed("")

    assert host.secret is not None
    assert (host.secret["type"], host.secret["metadata"]["namespace"]) == ("kubernetes.io/tls", "apiext-system")
    assert set(host.secret["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    assert certificate.covers(host.text("tls.crt"), ["apiext.apiext-system.svc"])
    assert bundle == host.text("ca.crt")


async def test_waits_until_the_host_trusts_the_authority() -> None:
    """Use the next certificate when its authority was distributed, after the propagation time."""
    host = Host()
    serving = host.opened()
    await serving.reconcile()
    first = host.text("tls.crt")
    serving.mark_distributed(serving.bundle)
    host.seconds += 300 * DAY

    await serving.reconcile()
    assert (host.text("tls.crt"), len(certificate.certificates(serving.bundle))) == (first, 2)
    following = host.text("next.crt")
    await serving.reconcile()
    assert host.text("tls.crt") == first

    serving.mark_distributed(serving.bundle)
    assert await serving.reconcile() == PROPAGATION_SECONDS
    assert host.text("tls.crt") == first
    host.seconds += PROPAGATION_SECONDS
    await serving.reconcile()
    assert (host.text("tls.crt"), host.text("next.crt")) == (following, "")
    assert len(certificate.certificates(serving.bundle)) == 2


async def test_keeps_foreign_data() -> None:
    """Keep data, labels and annotations of other writers."""
    host = Host()
    await host.opened().reconcile()
    assert host.secret is not None
    mine = {"metadata": {**host.secret["metadata"], "annotations": {"mine": "yes"}}, "data": {**host.secret["data"], "mine": "eQ=="}}
    host.change({**host.secret, **mine})
    host.seconds += 300 * DAY

    await host.opened().reconcile()

    assert (host.secret["metadata"]["annotations"], host.secret["data"]["mine"]) == ({"mine": "yes"}, "eQ==")
    assert "next.crt" in host.secret["data"]


async def test_accepts_a_concurrent_write() -> None:
    """Accept the Secret of another operator after a conflict."""
    host = Host()
    await host.opened().reconcile()
    host.seconds += 300 * DAY
    host.errors = [ApiError("conflict", code=409)]

    with pytest.raises(ApiError):
        await host.opened().reconcile()
    one, other = host.opened(), host.opened()
    await one.reconcile()
    await other.reconcile()

    assert one.bundle == other.bundle == host.text("ca.crt")


async def test_recreates_a_deleted_secret() -> None:
    """Create a deleted Secret again, and trust its former authority for the overlap."""
    host = Host()
    serving = host.opened()
    async with _running(serving):
        before = await serving.changed("")
        await asyncio.sleep(0)
        host.change(None)
        both = await serving.changed(before)

    assert both == host.text("ca.crt") + before


async def test_only_reads_cert_managers_secret(caplog: pytest.LogCaptureFixture) -> None:
    """Read a Secret of cert-manager and never write it; log an error if it was to be managed."""
    host, maker = Host(), Host()
    await maker.opened().reconcile()
    assert maker.secret is not None
    metadata = {"annotations": {"cert-manager.io/certificate-name": "apiext-serving"}}
    host.change({**maker.secret, "metadata": metadata})
    host.seconds += 300 * DAY

    for manage in (True, False):
        serving = host.opened(manage=manage)
        await serving.reconcile()
        await serving.reconcile()
        assert serving.bundle == maker.text("ca.crt")

    assert host.writes == 1
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "serving certificate Secret unusable, retrying"
    ]


async def test_follows_an_unmanaged_secret() -> None:
    """Publish nothing without a Secret, then its authorities as they change."""
    host, maker = Host(), Host()
    serving = host.opened(manage=False)
    await serving.reconcile()
    assert (serving.bundle, host.writes) == ("", 0)

    async with _running(serving):
        await maker.opened().reconcile()
        host.change(maker.secret)
        first = await serving.changed("")
        maker.change(None)
        await maker.opened().reconcile()
        host.change(maker.secret)
        second = await serving.changed(first)

    assert second == maker.text("ca.crt") + first


def test_ends_trust_after_the_overlap() -> None:
    """Trust a removed authority for the overlap, and keep the last bundle if none is left."""
    seconds = 0.0
    trust = TrustBundle(clock=lambda: seconds)

    assert trust.bundle(["a"]) == "a"
    assert trust.bundle(["b"]) == "ba"
    seconds = OVERLAP_SECONDS - 1
    assert trust.bundle(["b"]) == "ba"
    seconds = OVERLAP_SECONDS
    assert (trust.bundle([]), trust.bundle(["b"])) == ("ba", "b")
