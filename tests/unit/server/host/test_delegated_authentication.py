"""The cluster's word on clients is believed where the options leave it to the cluster."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from apiext.authentication.client_certificate import Authorities, PeerIdentification
from apiext.authentication.request_header import RequestHeaders
from apiext.server.host.delegated_authentication import Lookup
from apiext.server.options import AuthenticationOptions
from apiext.server.start_error import StartError
from apiext.server.tls.context import TLSError
from apiext.server.tls.dynamic_tls import Entrance
from apiext.storage.host_records import HostRecords
from apiext.webhook.client import WebhookClient, WebhookError
from hack.lib.servers.certificates import Authority
from tests.support.captured_logs import logged
from tests.support.servers.memory_backend import MemoryBackend


class Believer:
    """Stands for the entrance."""

    def __init__(self) -> None:
        self.identification = PeerIdentification(clients=Authorities(b"own"))
        self.doubts = False

    def believe(self, identification: PeerIdentification) -> None:
        """Take it over."""
        if self.doubts:
            raise TLSError("no")
        self.identification = identification


class Remote:
    """Stands for the cluster."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def get(self, path: str) -> Any:
        """The ConfigMap."""
        assert path == "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def _config_map(folder: Path) -> dict[str, Any]:
    data = {
        "client-ca-file": Authority(folder / "clients").cert.read_text(),
        "requestheader-client-ca-file": Authority(folder / "proxies").cert.read_text(),
        "requestheader-allowed-names": '["front"]',
        "requestheader-username-headers": '["X-User"]',
    }
    return {"metadata": {"resourceVersion": "1"}, "data": data}


def _lookup(**options: Any) -> tuple[Lookup, Believer]:
    believer = Believer()
    return Lookup(AuthenticationOptions(**options), cast("Entrance", believer)), believer


async def _begin(lookup: Lookup, answer: Any) -> None:
    await lookup.begin(cast("WebhookClient", Remote(answer)))


async def test_what_no_option_names(tmp_path: Path) -> None:
    """Both authorities, the proxies' names and their headers are the cluster's."""
    lookup, believer = _lookup()
    config_map = _config_map(tmp_path)

    await _begin(lookup, config_map)

    found, data = believer.identification, config_map["data"]
    assert found.clients.pem.decode() == data["client-ca-file"]
    assert found.proxies == Authorities(data["requestheader-client-ca-file"].encode())
    assert found.proxy_names == {"front"}
    assert lookup.headers.current == RequestHeaders(username=("X-User",))


@pytest.mark.parametrize("named", ["client_ca_file", "front_proxy_ca_file"])
async def test_what_an_option_names(tmp_path: Path, named: str) -> None:
    """It stays as the option has it."""
    lookup, believer = _lookup(**{named: tmp_path})

    await _begin(lookup, _config_map(tmp_path))

    assert (believer.identification.clients == Authorities(b"own")) is (named == "client_ca_file")
    assert (believer.identification.proxies is None) is (named == "front_proxy_ca_file")


async def test_a_cluster_that_does_not_say(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The server does not start, unless that is tolerated, nothing of it is needed, or there is nothing yet."""
    refused, missing = WebhookError("forbidden", code=403), WebhookError("not found", code=404)
    with pytest.raises(
        StartError, match=r"configmap kube-system/extension-apiserver-authentication cannot be read: forbidden \(see --auth"
    ):
        await _begin(_lookup()[0], refused)
    assert not logged(caplog)

    for options in ({"tolerate_lookup_failure": True}, {"front_proxy_ca_file": tmp_path}):
        await _begin(_lookup(**options)[0], refused)
    assert len(logged(caplog)) == 2

    await _begin(_lookup()[0], missing)
    assert len(logged(caplog)) == 2


async def test_what_cannot_be_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and all stays as it was until it can be."""
    lookup, believer = _lookup()
    config_map = _config_map(tmp_path)
    believer.doubts = True
    lookup.changed(config_map)

    assert believer.identification.clients == Authorities(b"own")
    assert [line["error"] for line in logged(caplog)] == ["no"]
    assert lookup.headers.current == RequestHeaders()

    believer.doubts = False
    lookup.changed(config_map)
    assert lookup.headers.current != RequestHeaders()


async def _remembered(records: HostRecords, *, expected: Any) -> None:
    async with asyncio.timeout(10):
        while await records.authentication() != expected:  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0)


async def test_what_the_store_remembers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A cluster that is away is known as it was; what it says next holds, and is remembered in turn."""
    records, config_map, refused = HostRecords(MemoryBackend(), "/registry"), _config_map(tmp_path), WebhookError("away")
    first, _ = _lookup()
    await first.begin(cast("WebhookClient", Remote(config_map)), recalls=True)
    await first.recall(records)
    await _remembered(records, expected={"data": config_map["data"]})

    lookup, believer = _lookup()
    await lookup.begin(cast("WebhookClient", Remote(refused)), recalls=True)
    await lookup.recall(records)
    assert believer.identification.clients.pem.decode() == config_map["data"]["client-ca-file"]
    assert lookup.headers.current == RequestHeaders(username=("X-User",))
    assert [line["event"] for line in logged(caplog)] == ["the cluster does not say how clients are known; what it said last holds"]

    broken = {"metadata": {}, "data": config_map["data"] | {"requestheader-allowed-names": "{"}}
    lookup.changed(broken)
    other = {"data": config_map["data"] | {"requestheader-allowed-names": "[]"}}
    lookup.changed(other)
    await _remembered(records, expected=other)


async def test_nothing_is_remembered(caplog: pytest.LogCaptureFixture) -> None:
    """Without anything to recall a cluster that is away is what it is without a store."""
    records, refused = HostRecords(MemoryBackend(), "/registry"), WebhookError("away")
    strict, _ = _lookup()
    await strict.begin(cast("WebhookClient", Remote(refused)), recalls=True)
    with pytest.raises(StartError, match="cannot be read: away"):
        await strict.recall(records)

    tolerant, _ = _lookup(tolerate_lookup_failure=True)
    await tolerant.begin(cast("WebhookClient", Remote(refused)), recalls=True)
    await tolerant.recall(records)
    assert len(logged(caplog)) == 1


async def test_a_store_that_cannot_remember(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is told, and tried again with what the cluster says next."""
    backend, config_map = MemoryBackend(), _config_map(tmp_path)
    records, (lookup, _) = HostRecords(backend, "/registry"), _lookup()
    await lookup.recall(records)
    await backend.change(broken=True)
    lookup.changed(config_map)
    async with asyncio.timeout(10):
        while not logged(caplog):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0)
    await backend.change(broken=False)
    lookup.changed(config_map)

    await _remembered(records, expected={"data": config_map["data"]})
