"""The extension-apiserver-authentication ConfigMap becomes the client trust, as far as no option sets it."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from apiext.api.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.base.meta.request import UserInfo, authenticated
from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.server.host.delegated_authentication import ConfigMapLookup
from apiext.server.options.options import AuthenticationOptions
from apiext.server.start_error import StartError
from apiext.server.tls.context import TLSError
from apiext.server.tls.dynamic_tls import DynamicTLS
from apiext.storage.replicas.host_records import HostRecords
from hack.lib.servers.certificates import Authority
from tests.support.captured_logs import logged
from tests.support.event_loop import until
from tests.support.servers.memory_backend import MemoryBackend

HEADERS = {"X-User": "ann"}


class FakeTLS:
    """Stands for DynamicTLS; `broken` makes it reject everything."""

    def __init__(self) -> None:
        self.identification = PeerIdentification(clients=CertificateAuthorities(b"own"))
        self.broken = False

    def set_client_trust(self, identification: PeerIdentification) -> None:
        """Record the trust."""
        if self.broken:
            raise TLSError("no")
        self.identification = identification


class Remote:
    """A cluster with one answer."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def get(self, path: str) -> Any:
        """Return the ConfigMap."""
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


def _lookup(**options: Any) -> tuple[ConfigMapLookup, FakeTLS]:
    tls = FakeTLS()
    return ConfigMapLookup(AuthenticationOptions(**options), cast("DynamicTLS", tls)), tls


def _proxied(lookup: ConfigMapLookup) -> UserInfo | None:
    return lookup.front_proxy_user(HEADERS, [(name.encode(), text.encode()) for name, text in HEADERS.items()])


async def _read(lookup: ConfigMapLookup, answer: Any) -> None:
    await lookup.read(cast("WebhookClient", Remote(answer)))


async def test_uses_the_config_map(tmp_path: Path) -> None:
    """Take both authorities, the names of front proxies and their headers from the ConfigMap."""
    lookup, tls = _lookup()
    config_map = _config_map(tmp_path)

    await _read(lookup, config_map)

    found, data = tls.identification, config_map["data"]
    assert found.clients.pem.decode() == data["client-ca-file"]
    assert found.proxies == CertificateAuthorities(data["requestheader-client-ca-file"].encode())
    assert found.proxy_names == {"front"}
    assert _proxied(lookup) == authenticated(UserInfo("ann"))


@pytest.mark.parametrize("named", ["client_ca_file", "front_proxy_ca_file"])
async def test_prefers_options(tmp_path: Path, named: str) -> None:
    """Keep the authority that an option sets."""
    lookup, tls = _lookup(**{named: tmp_path})

    await _read(lookup, _config_map(tmp_path))

    assert (tls.identification.clients == CertificateAuthorities(b"own")) is (named == "client_ca_file")
    assert (tls.identification.proxies is None) is (named == "front_proxy_ca_file")


async def test_fails_without_the_config_map(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Raise an error, unless that is tolerated, an option sets the front proxy's authority, or the ConfigMap does not exist."""
    refused, missing = WebhookError("forbidden", code=403), WebhookError("not found", code=404)
    with pytest.raises(
        StartError, match=r"configmap kube-system/extension-apiserver-authentication cannot be read: forbidden \(see --auth"
    ):
        await _read(_lookup()[0], refused)
    assert not logged(caplog)

    for options in ({"tolerate_lookup_failure": True}, {"front_proxy_ca_file": tmp_path}):
        await _read(_lookup(**options)[0], refused)
    assert len(logged(caplog)) == 2

    await _read(_lookup()[0], missing)
    assert len(logged(caplog)) == 2


async def test_keeps_the_last_valid_state(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Log an invalid ConfigMap, and keep the last valid one until the next."""
    lookup, tls = _lookup()
    config_map = _config_map(tmp_path)
    tls.broken = True
    lookup.update(config_map)

    assert tls.identification.clients == CertificateAuthorities(b"own")
    assert [line["error"] for line in logged(caplog)] == ["no"]
    assert _proxied(lookup) is None

    tls.broken = False
    lookup.update(config_map)
    assert _proxied(lookup) is not None


async def _until_recorded(records: HostRecords, *, expected: Any) -> None:
    async with asyncio.timeout(30):
        while await records.authentication() != expected:  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0)


async def test_recalls_the_recorded_state(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Use the recorded ConfigMap where the cluster is not reachable, then apply and record the next valid state."""
    records, config_map, refused = HostRecords(MemoryBackend(), "/registry"), _config_map(tmp_path), WebhookError("away")
    first, _ = _lookup()
    await first.read(cast("WebhookClient", Remote(config_map)), recalls=True)
    await first.recall(records)
    await _until_recorded(records, expected={"data": config_map["data"]})

    lookup, tls = _lookup()
    await lookup.read(cast("WebhookClient", Remote(refused)), recalls=True)
    await lookup.recall(records)
    assert tls.identification.clients.pem.decode() == config_map["data"]["client-ca-file"]
    assert _proxied(lookup) == authenticated(UserInfo("ann"))
    assert [line["event"] for line in logged(caplog)] == ["extension-apiserver-authentication ConfigMap not read, using the recorded one"]

    broken = {"metadata": {}, "data": config_map["data"] | {"requestheader-allowed-names": "{"}}
    lookup.update(broken)
    other = {"data": config_map["data"] | {"requestheader-allowed-names": "[]"}}
    lookup.update(other)
    await _until_recorded(records, expected=other)


async def test_fails_without_a_recorded_state(caplog: pytest.LogCaptureFixture) -> None:
    """Raise an error where neither the cluster nor the store has the ConfigMap, unless that is tolerated."""
    records, refused = HostRecords(MemoryBackend(), "/registry"), WebhookError("away")
    strict, _ = _lookup()
    await strict.read(cast("WebhookClient", Remote(refused)), recalls=True)
    with pytest.raises(StartError, match="cannot be read: away"):
        await strict.recall(records)

    tolerant, _ = _lookup(tolerate_lookup_failure=True)
    await tolerant.read(cast("WebhookClient", Remote(refused)), recalls=True)
    await tolerant.recall(records)
    assert len(logged(caplog)) == 1


async def test_records_again_after_a_failure(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Log a failure of the store, and record the next state."""
    backend, config_map = MemoryBackend(), _config_map(tmp_path)
    records, (lookup, _) = HostRecords(backend, "/registry"), _lookup()
    await lookup.recall(records)
    await backend.change(broken=True)
    lookup.update(config_map)
    await until(lambda: logged(caplog))
    await backend.change(broken=False)
    lookup.update(config_map)

    await _until_recorded(records, expected={"data": config_map["data"]})
