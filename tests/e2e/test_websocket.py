"""Bearer tokens as WebSocket protocols, as browsers send them."""

import base64
from contextlib import closing
from typing import Final

import pytest

from hack.lib.servers.caller import Caller
from tests.e2e.cluster import PLAIN, SERVED, Cluster, until

pytestmark = pytest.mark.slow
ACCOUNT: Final = "/api/v1/namespaces/default/serviceaccounts"
PREFIX: Final = "base64url.bearer.authorization.k8s.io."
UPGRADE: Final = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Origin": "https://example.com",
    "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode(),
    "Sec-WebSocket-Version": "13",
}


def _shaken(caller: Caller, group: str, headers: dict[str, str]) -> tuple[int, str | None]:
    path = f"/apis/{group}/v1/widgets?watch=true&timeoutSeconds=1"
    with closing(caller.connect()) as connection:
        response = caller.send(connection, "GET", path, headers=headers.items())
        return response.status, response.headers.get("Sec-WebSocket-Protocol")


def test_accepts_tokens_as_kube_apiserver_does(cluster: Cluster) -> None:
    """Answer handshakes with every kind of token as kube-apiserver does, which refuses several protocols beside the token."""
    cluster.host.must("POST", ACCOUNT, {"metadata": {"name": "browser"}})
    token = cluster.host.must("POST", f"{ACCOUNT}/browser/token", {"spec": {}})["status"]["token"]
    rules = [{"apiGroups": [PLAIN, *SERVED], "resources": ["widgets"], "verbs": ["list", "watch"]}]
    cluster.grant("e2e-browser", rules, "system:serviceaccount:default:browser")
    reference, own = Caller(cluster.plane.url, cluster.plane.ca), Caller(cluster.apiext.url, cluster.authority.cert)
    protocol = PREFIX + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    good = {"Sec-WebSocket-Protocol": f"a,{protocol}"}

    def found(headers: dict[str, str]) -> list[tuple[int, str | None]]:
        return [_shaken(reference, PLAIN, headers), *(_shaken(own, group, headers) for group in SERVED)]

    until(lambda: {code for code, _ in found(UPGRADE | good)} == {101})
    protocols = [
        *("a", f"{protocol},a", protocol, f"a,{protocol},{protocol}", f"a,{protocol}x", f"a,{protocol}="),
        *(f"a,{PREFIX}", f"a,{PREFIX}d3Jvbmc", f"a,{PREFIX}____"),
    ]
    requests = [UPGRADE | {"Sec-WebSocket-Protocol": text} for text in protocols]
    requests += [UPGRADE | good | {"Authorization": text} for text in ("Bearer wrong", "Basic YTpi")]
    requests += [good, UPGRADE | good | {"Upgrade": "other"}]

    different = {
        str(headers).replace(token, "TOKEN").replace(protocol, "PROTOCOL"): answers
        for headers in requests
        if len(set(answers := found(headers))) > 1
    }
    assert different == {}
