"""The Secret with the servers' certificate, against a host that keeps one object."""

import asyncio
import base64
import datetime
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import pytest

from apiext.cert import certificate
from apiext.operator.api_clients import ApiError
from apiext.operator.serving_certificate.factory import hosts_of
from apiext.operator.serving_certificate.secret import SETTLING, ServingSecret
from apiext.operator.serving_certificate.trust_bundle import OVERLAP, Trust

DAY: Final = 86400.0
START: Final = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
PATH: Final = "/api/v1/namespaces/apiext-system/secrets"


class Host:
    """Keeps the Secret, and tells of changes."""

    def __init__(self) -> None:
        self.secret: dict[str, Any] | None = None
        self.writes = 0
        self.seconds = 0.0
        self.errors: list[ApiError] = []
        self._told: Callable[[], None] = lambda: None

    async def find(self, path: str) -> dict[str, Any] | None:
        """What is there."""
        assert path == f"{PATH}/apiext-serving"
        return self.secret

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create it."""
        assert path == PATH
        if self.secret is not None:
            raise ApiError("it is there", code=409, reason="AlreadyExists")
        return self.change({**body, "metadata": {**body["metadata"], "resourceVersion": "0"}})

    async def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Replace it."""
        assert path == f"{PATH}/apiext-serving"
        if self.errors:
            raise self.errors.pop()
        assert self.secret is not None
        assert body["metadata"]["resourceVersion"] == self.secret["metadata"]["resourceVersion"]
        return self.change(body)

    def change(self, secret: dict[str, Any] | None) -> dict[str, Any]:
        """Anybody's write."""
        self.writes += 1
        if secret is not None:
            secret = {**secret, "metadata": {**secret["metadata"], "resourceVersion": str(self.writes)}}
        self.secret = secret
        self._told()
        return secret or {}

    async def watch(self, changed: Callable[[], None]) -> None:
        """Tell of writes from now on."""
        self._told = changed
        await asyncio.Event().wait()

    def text(self, field: str) -> str:
        """A field of it."""
        assert self.secret is not None
        return base64.b64decode(self.secret["data"].get(field, "")).decode()

    def opened(self, *, manage: bool = True) -> ServingSecret:
        """An operator's part."""
        return ServingSecret(
            self,
            self.watch,
            namespace="apiext-system",
            name="apiext-serving",
            hosts=hosts_of("apiext-system", "apiext"),
            manage=manage,
            moment=lambda: START + datetime.timedelta(seconds=self.seconds),
            clock=lambda: self.seconds,
        )


@asynccontextmanager
async def _running(serving: ServingSecret) -> AsyncIterator[None]:
    task = asyncio.create_task(serving.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_the_first_secret() -> None:
    """It is made with what a Secret of its type must have, for the names of the Service; its authority is told."""
    host = Host()
    serving = host.opened()

    async with _running(serving):
        bundle = await serving.changed("")

    assert host.secret is not None
    assert (host.secret["type"], host.secret["metadata"]["namespace"]) == ("kubernetes.io/tls", "apiext-system")
    assert set(host.secret["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    assert certificate.covers(host.text("tls.crt"), ["apiext.apiext-system.svc"])
    assert bundle == host.text("ca.crt")


async def test_renewal_waits_for_the_host() -> None:
    """The next certificate is shown when the host has been told of its authority, and has had time to believe it."""
    host = Host()
    serving = host.opened()
    await serving.look()
    first = host.text("tls.crt")
    serving.spread(serving.bundle)
    host.seconds += 300 * DAY

    await serving.look()
    assert (host.text("tls.crt"), len(certificate.certificates(serving.bundle))) == (first, 2)
    following = host.text("next.crt")
    await serving.look()
    assert host.text("tls.crt") == first

    serving.spread(serving.bundle)
    assert await serving.look() == SETTLING
    assert host.text("tls.crt") == first
    host.seconds += SETTLING
    await serving.look()
    assert (host.text("tls.crt"), host.text("next.crt")) == (following, "")
    assert len(certificate.certificates(serving.bundle)) == 2


async def test_others_data_stays() -> None:
    """A write keeps fields, labels and annotations that somebody else has set."""
    host = Host()
    await host.opened().look()
    assert host.secret is not None
    mine = {"metadata": {**host.secret["metadata"], "annotations": {"mine": "yes"}}, "data": {**host.secret["data"], "mine": "eQ=="}}
    host.change({**host.secret, **mine})
    host.seconds += 300 * DAY

    await host.opened().look()

    assert (host.secret["metadata"]["annotations"], host.secret["data"]["mine"]) == ({"mine": "yes"}, "eQ==")
    assert "next.crt" in host.secret["data"]


async def test_a_write_in_between() -> None:
    """Of two operators that write at once one is refused, and takes over what the other has written."""
    host = Host()
    await host.opened().look()
    host.seconds += 300 * DAY
    host.errors = [ApiError("somebody was quicker", code=409, reason="Conflict")]

    with pytest.raises(ApiError):
        await host.opened().look()
    one, other = host.opened(), host.opened()
    await one.look()
    await other.look()

    assert one.bundle == other.bundle == host.text("ca.crt")


async def test_a_secret_that_is_deleted() -> None:
    """It is made anew at once; its former authority is believed for as long as servers may show what they have read."""
    host = Host()
    serving = host.opened()
    async with _running(serving):
        before = await serving.changed("")
        await asyncio.sleep(0)
        host.change(None)
        both = await serving.changed(before)

    assert both == host.text("ca.crt") + before


async def test_cert_managers_secret(caplog: pytest.LogCaptureFixture) -> None:
    """What cert-manager makes is read and never written, and said where it was to be managed here."""
    host, maker = Host(), Host()
    await maker.opened().look()
    assert maker.secret is not None
    metadata = {"annotations": {"cert-manager.io/certificate-name": "apiext-serving"}}
    host.change({**maker.secret, "metadata": metadata})
    host.seconds += 300 * DAY

    for manage in (True, False):
        serving = host.opened(manage=manage)
        await serving.look()
        await serving.look()
        assert serving.bundle == maker.text("ca.crt")

    assert host.writes == 1
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "the serving certificate is not as it should be"
    ]


async def test_a_secret_of_somebody_else() -> None:
    """With nobody's Secret yet there is nothing to believe; then its authority, and others as they come."""
    host, maker = Host(), Host()
    serving = host.opened(manage=False)
    await serving.look()
    assert (serving.bundle, host.writes) == ("", 0)

    async with _running(serving):
        await maker.opened().look()
        host.change(maker.secret)
        first = await serving.changed("")
        maker.change(None)
        await maker.opened().look()
        host.change(maker.secret)
        second = await serving.changed(first)

    assert second == maker.text("ca.crt") + first


def test_trust_ends() -> None:
    """What is not published any more is believed for a while; where nothing is published, what was stays."""
    seconds = 0.0
    trust = Trust(clock=lambda: seconds)

    assert trust.bundle(["a"]) == "a"
    assert trust.bundle(["b"]) == "ba"
    seconds = OVERLAP - 1
    assert trust.bundle(["b"]) == "ba"
    seconds = OVERLAP
    assert (trust.bundle([]), trust.bundle(["b"])) == ("ba", "b")
