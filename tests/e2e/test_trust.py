"""Changes of the cluster's front-proxy configuration while apiext runs."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from hack.lib.servers.caller import Caller, Headers
from hack.lib.servers.certificates import Authority
from tests.e2e.cluster import CONFIG_MAP, SERVED, Cluster, until

pytestmark = pytest.mark.slow
WIDGETS = [f"/apis/{group}/v1/namespaces/default/widgets" for group in SERVED]
MERGE = [("Content-Type", "application/merge-patch+json")]
ROOT_USER = [("X-Remote-User", "somebody"), ("X-Remote-Group", "system:masters")]
CA = "requestheader-client-ca-file"


def _told(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.host.must("GET", CONFIG_MAP)["data"]
    return found


def _tell(cluster: Cluster, **data: str) -> None:
    cluster.host.must("PATCH", CONFIG_MAP, {"data": {name.replace("_", "-"): text for name, text in data.items()}}, MERGE)


@pytest.fixture
def before(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Provide the content of the ConfigMap, and restore it afterwards."""
    data = _told(cluster)
    yield data
    cluster.host.must("PATCH", CONFIG_MAP, {"data": data}, MERGE)


def _codes(caller: Caller, headers: Headers = ()) -> set[int]:
    """Return the codes of lists of the groups' objects."""
    return {caller.ask("GET", path, headers=headers)[0] for path in WIDGETS}


def _gets_in(caller: Caller) -> bool:
    with suppress(OSError):
        return _codes(caller, ROOT_USER) == {200}
    return False


def test_follows_front_proxy_authorities(cluster: Cluster, before: dict[str, Any]) -> None:
    """Accept a front proxy while the ConfigMap has its authority, and other clients all the time."""
    authority = Authority(cluster.apiext.folder / "next-proxy", "next-front-proxy-ca")
    next_proxy = Caller(cluster.apiext.url, cluster.authority.cert, authority.issue("front-proxy-client"))
    pid = cluster.apiext.pid
    assert not _gets_in(next_proxy)

    _tell(cluster, requestheader_client_ca_file=before[CA] + authority.cert.read_text())
    until(lambda: _gets_in(next_proxy))
    assert _codes(cluster.host) == {200}

    _tell(cluster, requestheader_client_ca_file=before[CA])
    until(lambda: not _gets_in(next_proxy))
    assert _codes(cluster.host) == {200}
    assert cluster.apiext.pid == pid


@pytest.mark.usefixtures("before")
def test_follows_header_names(cluster: Cluster) -> None:
    """Follow the names of headers and proxies, and keep the last valid configuration."""
    proxy = Caller(cluster.apiext.url, cluster.authority.cert, cluster.plane.proxy_client)
    other = Caller(cluster.apiext.url, cluster.authority.cert, cluster.plane.front_proxy.issue("other-proxy"))
    named = [("X-NamespacedName", "carl"), ("X-Remote-Group", "system:masters")]
    assert _codes(proxy, named) == {401}

    _tell(
        cluster,
        requestheader_username_headers='["X-NamespacedName","X-Remote-User"]',
        requestheader_allowed_names='["front-proxy-client","other-proxy"]',
    )
    until(lambda: _codes(proxy, named) == {200} and _gets_in(other))

    _tell(cluster, requestheader_allowed_names="{", requestheader_client_ca_file="rubbish")
    until(lambda: "requestheader-allowed-names: invalid JSON" in cluster.apiext.log)
    assert _codes(proxy, named) == {200}
