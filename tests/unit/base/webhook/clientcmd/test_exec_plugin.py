"""Kubeconfigs with exec plugins."""

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.base.webhook.clientcmd.credentials import CredentialError
from apiext.base.webhook.clientcmd.exec_plugin import exec_plugin
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint, load
from apiext.base.webhook.transport import open_session
from hack.lib.servers.certificates import Authority
from tests.support.builders.kubeconfigs import kubeconfig_of
from tests.support.event_loop import advance, until

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


class FakePlugin:
    """A program that appends its KUBERNETES_EXEC_INFO to a file and prints the ExecCredential of another file."""

    def __init__(self, folder: Path, version: str = V1) -> None:
        self._folder = folder
        self._version = version
        self.path = folder / "plugin"
        self.script("cat $(dirname $0)/status.json")

    def script(self, action: str) -> None:
        """Replace what the program does."""
        self.path.write_text(f'#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >> {self._folder}/runs\n{action}\n')
        self.path.chmod(0o755)

    def answer(self, **status: Any) -> None:
        """Print this status from now on."""
        found = {"apiVersion": self._version, "kind": "ExecCredential", "status": status}
        (self._folder / "status.json").write_text(json.dumps(found))

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Return the KUBERNETES_EXEC_INFO of each run."""
        path = self._folder / "runs"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def endpoint(self, url: str, cluster: dict[str, Any] | None = None, **section: Any) -> Endpoint:
        """Return the endpoint of a kubeconfig with this plugin."""
        user = {"exec": {"apiVersion": self._version, "command": "./plugin", **section}}
        path = self._folder / "kubeconfig"
        path.write_text(json.dumps(kubeconfig_of({"server": url} | (cluster or {}), user)))
        return load(path)


class Server:
    """Answers 401 to all tokens but the valid ones, and records the Authorization headers."""

    def __init__(self, *valid: str) -> None:
        self.valid = {f"Bearer {token}" for token in valid}
        self.headers: list[str] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return 200 or 401."""
        self.headers.append(request.headers.get("Authorization", ""))
        return web.json_response({"a": 1}, status=200 if self.headers[-1] in self.valid else 401)


@pytest.fixture
def plugin(tmp_path: Path) -> FakePlugin:
    """Return a plugin."""
    return FakePlugin(tmp_path)


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_sends_the_token(tmp_path: Path, version: str) -> None:
    """Run the plugin once for several requests and several clients, and send its token."""
    plugin, server = FakePlugin(tmp_path, version), Server("one")
    plugin.answer(token="one", expirationTimestamp="2100-01-01T00:00:00Z")
    async with RawTestServer(server) as running:
        for _ in range(2):
            client = WebhookClient(plugin.endpoint(str(running.make_url(""))))
            await asyncio.gather(client.get("/a"), client.post("/b", {}))
            await client.close()

    assert server.headers == ["Bearer one"] * 4
    assert plugin.runs == [{"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}]


async def test_runs_again_after_the_expiry(plugin: FakePlugin) -> None:
    """Run the plugin again when its token has expired."""
    server = Server("one", "two")
    async with RawTestServer(server) as running:
        client = WebhookClient(plugin.endpoint(str(running.make_url(""))))
        plugin.answer(token="one", expirationTimestamp="2020-01-01T00:00:00Z")
        await client.get("/a")
        plugin.answer(token="two")
        for _ in range(2):
            await client.get("/a")
        await client.close()

    assert server.headers == ["Bearer one", "Bearer two", "Bearer two"]


async def test_renews_once_after_a_401(plugin: FakePlugin) -> None:
    """Send a request with a rejected token again with a new one, once."""
    server = Server("two")
    plugin.answer(token="one")
    async with RawTestServer(server) as running:
        client = WebhookClient(plugin.endpoint(str(running.make_url(""))))
        code, _ = await client.ask("/a", method="POST", body={"b": 1})
        plugin.answer(token="two")
        again, _ = await client.ask("/a")
        await client.close()

    assert (code, again) == (401, 401)
    assert server.headers == ["Bearer one"] * 3
    assert len(plugin.runs) == 2


async def test_recovers_from_a_revoked_token(plugin: FakePlugin, tmp_path: Path) -> None:
    """Return the answer to the new token."""
    server = Server("two")
    plugin.answer(token="one")
    plugin.script(f"cat {tmp_path}/status.json; sed -i s/one/two/ {tmp_path}/status.json")
    async with RawTestServer(server) as running:
        client = WebhookClient(plugin.endpoint(str(running.make_url(""))))
        assert await client.post("/a", {"b": 1}) == {"a": 1}
        await client.close()

    assert server.headers == ["Bearer one", "Bearer two"]


async def test_session_for_libraries(plugin: FakePlugin) -> None:
    """Send the token in requests of an aiohttp session, renew it after a 401, and never send an anonymous request."""
    server = Server("one")
    plugin.answer(token="one")
    async with RawTestServer(server) as running, open_session(plugin.endpoint(str(running.make_url("")))) as session:
        assert (await session.get(running.make_url("/a"))).status == 200
        plugin.script("echo no >&2; exit 1")
        server.valid.clear()
        with pytest.raises(Exception, match="no"):
            await session.get(running.make_url("/a"))

    assert server.headers == ["Bearer one"] * 2


@pytest.mark.parametrize(
    "action,reason",
    [
        ("echo first >&2; echo 'second ü' >&2; exit 3", "failed with exit code 3: first second ü"),
        ("exit 1", "failed with exit code 1"),
        ("echo '{'", "printed no valid ExecCredential"),
        ("echo '[]'", "printed no valid ExecCredential"),
        ('echo \'{"kind": "Status"}\'', "kind 'Status' and apiVersion None instead of ExecCredential"),
        (f'echo \'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{}}}}\'', "neither a token nor a client certificate"),
        (
            f'echo \'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{"clientKeyData": "a"}}}}\'',
            "only one of clientCertificateData and clientKeyData",
        ),
    ],
)
async def test_a_failing_plugin_is_an_error(plugin: FakePlugin, action: str, reason: str) -> None:
    """Raise the reason with the plugin's stderr, without a request."""
    server = Server("")
    plugin.script(action)
    async with RawTestServer(server) as running:
        client = WebhookClient(plugin.endpoint(str(running.make_url(""))))
        with pytest.raises(WebhookError, match="getting credentials: exec: executable ") as found:
            await client.get("/a")
        await client.close()

    assert reason in str(found.value)
    assert server.headers == []


async def test_resolves_a_relative_path(plugin: FakePlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a plugin relative to the kubeconfig, also where the path of the kubeconfig is relative."""
    plugin.answer(token="one")
    plugin.endpoint("http://127.0.0.1:1")
    monkeypatch.chdir(tmp_path)

    assert (await load(Path("kubeconfig")).credential()).authorization == "Bearer one"


async def test_reports_a_missing_plugin(plugin: FakePlugin) -> None:
    """Raise the install hint in one line where the program does not exist."""
    endpoint = plugin.endpoint("http://127.0.0.1:1", command="no-such-plugin", installHint="Install it\nfrom there.")

    with pytest.raises(CredentialError, match=r"executable no-such-plugin not found: Install it from there\."):
        await endpoint.credential()


async def test_kills_a_plugin_that_hangs(tmp_path: Path) -> None:
    """Raise an error at the deadline, kill the plugin with its children, and keep the event loop running meanwhile."""
    plugin, pids = FakePlugin(tmp_path), tmp_path / "pids"
    plugin.script(f"sleep 600 & echo $$ $! > {pids}; wait")
    running = asyncio.ensure_future(exec_plugin({"apiVersion": V1, "command": "./plugin"}, {}, tmp_path, timeout=60)())
    await until(lambda: pids.exists() and pids.read_text())
    parent, child = map(int, pids.read_text().split())

    advance(60)
    with pytest.raises(CredentialError, match="did not end within 60 s"):
        await running
    assert not _is_running(parent)
    await until(lambda: not _is_running(child))


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_passes_the_arguments(plugin: FakePlugin) -> None:
    """Run the plugin with the section's arguments and environment, and describe the cluster where it asks for that."""
    plugin.script(f'echo \'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{"token": "\'"$1-$EXTRA"\'"}}}}\'')
    cluster = {
        "certificate-authority-data": "",
        "tls-server-name": "name",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"x": 1}}],
    }
    endpoint = plugin.endpoint(
        "http://127.0.0.1:1", cluster, args=["get-token"], env=[{"name": "EXTRA", "value": "x"}], provideClusterInfo=True
    )

    assert (await endpoint.credential()).authorization == "Bearer get-token-x"
    assert plugin.runs[0]["spec"] == {
        "interactive": False,
        "cluster": {"server": "http://127.0.0.1:1", "tls-server-name": "name", "config": {"x": 1}},
    }


@pytest.mark.parametrize("library", [False, True])
async def test_shows_the_client_certificate(tmp_path: Path, library: bool) -> None:  # noqa: FBT001 -- a parameter
    """Show the plugin's certificate on new connections, and the next one after its expiry, from the client and from the session."""
    authority = Authority(tmp_path / "ca")
    plugin, names = FakePlugin(tmp_path), []
    tls, pair = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.cert), authority.issue("server")
    tls.load_cert_chain(pair.cert, pair.key)
    tls.verify_mode = ssl.CERT_REQUIRED

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        subject = request.transport.get_extra_info("peercert")["subject"]
        names.append(dict(part[0] for part in subject)["commonName"])
        return web.json_response({})

    running = RawTestServer(serve)
    await running.start_server(ssl=tls)
    url = str(running.make_url(""))
    endpoint = plugin.endpoint(url, {"certificate-authority": str(authority.cert), "insecure-skip-tls-verify": True})
    async with running, open_session(endpoint) as session:
        client = WebhookClient(endpoint)
        for name in ("ann", "bob"):
            issued = authority.issue(name)
            plugin.answer(
                clientCertificateData=issued.cert.read_text(),
                clientKeyData=issued.key.read_text(),
                expirationTimestamp="2020-01-01T00:00:00Z",
            )
            for _ in range(2):
                if library:
                    await (await session.get(f"{url}/a")).read()
                else:
                    await client.get("/a")
        await client.close()

    assert names == ["ann", "ann", "bob", "bob"]
