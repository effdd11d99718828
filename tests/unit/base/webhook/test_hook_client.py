"""Calls of webhooks, and their errors."""

import asyncio
import base64
import gzip
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from apiext.base.cert import certificate
from apiext.base.webhook import hook_client
from apiext.base.webhook.client_config import parse_client_config, tls_context
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.base.webhook.hook_answers import HookError
from apiext.base.webhook.hook_client import HookClient, HookClients
from apiext.base.webhook.hook_users import HookUser, HookUsers
from apiext.base.webhook.tls_errors import PeerCertificate
from hack.lib.servers.certificates import Authority
from tests.support.conversion_webhook import BREAK, HANG, Call, ConversionWebhook, Json, Reply, conversion_webhook
from tests.support.event_loop import settle, until
from tests.support.raw_http import Proxy, RawServer, server_tls

Connect = Callable[..., HookClient]


def _read(pem: str) -> PeerCertificate:
    return PeerCertificate(certificate.hosts_of(pem), certificate.validity(pem))


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[ConversionWebhook]:
    """Run a webhook that answers with its own path."""
    with conversion_webhook(tmp_path, answer=lambda call: Reply(call.path.encode())) as running:
        yield running


@pytest.fixture
async def connect(webhook: ConversionWebhook) -> AsyncIterator[Connect]:
    """Return a function that makes clients; the Service default/webhook is at the webhook's port."""
    clients = HookClients({("default", "webhook"): ("127.0.0.1", webhook.port)}, _read)
    yield lambda **config: clients.client(parse_client_config(webhook.client_config() | config))
    await clients.close()


async def _failure(client: HookClient) -> str:
    with pytest.raises(HookError) as error:
        await client.post(b"{}")
    return str(error.value)


async def test_request(connect: Connect, webhook: ConversionWebhook) -> None:
    """Send JSON with the reference's headers and the timeout as a parameter."""
    assert await connect().post(b"{}") == b"/convert?timeout=30s"
    (call,) = webhook.calls
    shown = {name: call.headers[name] for name in ("accept", "accept-encoding", "content-type", "user-agent")}
    assert shown == {
        "accept": "application/json, */*",
        "accept-encoding": "gzip",
        "content-type": "application/json",
        "user-agent": "kube-apiserver-admission",
    }
    assert call.body == b"{}"


@pytest.mark.parametrize(
    "path, called",
    [("", "/"), ("/", "/"), ("/a/", "/a"), ("/a//b/../c", "/a/c"), ("/a%20b", "/a%20b"), ("/a?x=y", "/a"), ("/%2e%2e/a", "/a")],
)
async def test_path(connect: Connect, webhook: ConversionWebhook, path: str, called: str) -> None:
    """Clean the path of a URL; its query is not sent."""
    assert await connect(url=f"https://127.0.0.1:{webhook.port}{path}").post(b"{}") == f"{called}?timeout=30s".encode()


async def test_service(connect: Connect, webhook: ConversionWebhook) -> None:
    """Call a Service at its overridden address by its name, which the certificate must have."""
    webhook.use_certificate(webhook.authority, "webhook.default.svc")
    client = connect(url=None, service={"namespace": "default", "name": "webhook", "port": 8443, "path": "/hook"})

    assert await client.post(b"{}") == b"/hook?timeout=30s"
    assert webhook.calls[0].headers["host"] == "webhook.default.svc:8443"


async def test_services_use_no_proxy(connect: Connect, webhook: ConversionWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call a Service directly, whatever the environment says."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    webhook.use_certificate(webhook.authority, "webhook.default.svc")

    assert await connect(url=None, service={"namespace": "default", "name": "webhook"}).post(b"{}")


async def test_missing_services(connect: Connect) -> None:
    """Name a Service that the DNS does not know; its port is always shown."""
    client = connect(url=None, service={"namespace": "none", "name": "missing", "path": "/x"})

    assert await _failure(client) == 'Post "https://missing.none.svc:443/x?timeout=30s": service "missing" not found'


async def test_redirects_of_services(connect: Connect, webhook: ConversionWebhook) -> None:
    """Any server to which a Service redirects must have its name."""
    webhook.use_certificate(webhook.authority, "webhook.default.svc")
    location = f"https://localhost:{webhook.port}/other"
    webhook.answer = lambda call: Reply(b"done") if call.path == "/other" else Reply(code=307, headers={"Location": location})

    assert await connect(url=None, service={"namespace": "default", "name": "webhook"}).post(b"{}") == b"done"


async def test_credentials(webhook: ConversionWebhook) -> None:
    """Send the credentials for a webhook to it, and to no server to which it redirects."""
    users = HookUsers({"users": [{"name": f"127.0.0.1:{webhook.port}", "user": {"token": "secret"}}]}, Path())
    clients = HookClients({}, _read, users)
    location = f"https://localhost:{webhook.port}/other"
    webhook.answer = lambda call: Reply(b"done") if call.path == "/other" else Reply(code=307, headers={"Location": location})

    assert await clients.client(parse_client_config(webhook.client_config())).post(b"{}") == b"done"

    assert [call.headers.get("authorization") for call in webhook.calls] == ["Bearer secret", None]
    await clients.close()


async def test_reads_gzip(connect: Connect, webhook: ConversionWebhook) -> None:
    """Decompress an answer."""
    webhook.answer = lambda _call: Reply(gzip.compress(b"text"), headers={"Content-Encoding": "gzip"})

    assert await connect().post(b"{}") == b"text"


async def test_retries_when_asked_to(connect: Connect, webhook: ConversionWebhook) -> None:
    """Call again after an answer with Retry-After, up to ten times."""

    def busy(_call: Call) -> Reply | Json:
        return Reply(code=503, headers={"Retry-After": "0"}) if len(webhook.calls) < limit else Reply(b"done")

    webhook.answer, limit = busy, 4
    assert await connect().post(b"{}") == b"done"
    assert len(webhook.calls) == 4
    limit = 100
    webhook.calls.clear()
    assert await _failure(connect()) == "the server is currently unable to handle the request"
    assert len(webhook.calls) == 11


async def test_retry_after_without_end(connect: Connect, webhook: ConversionWebhook) -> None:
    """Ignore a Retry-After with more digits than any number of seconds has."""
    webhook.answer = lambda _call: Reply(code=503, headers={"Retry-After": "9" * 5000})
    assert await _failure(connect()) == "the server is currently unable to handle the request"
    assert len(webhook.calls) == 1


async def test_redirects(connect: Connect, webhook: ConversionWebhook) -> None:
    """Follow redirects, at most ten."""

    def answer(call: Call) -> Reply | Json:
        return Reply(code=307, headers={"Location": "/other"}) if call.path.startswith("/convert") else Reply(call.body)

    webhook.answer = answer
    assert await connect().post(b"body") == b"body"
    webhook.answer = lambda call: Reply(code=307, headers={"Location": call.path})
    assert (await _failure(connect())).endswith(": stopped after 10 redirects")


@pytest.mark.parametrize(
    "reply, message",
    [
        (Reply(b"<x>\n", 500, {"Content-Type": "text/html"}), 'an error on the server ("<x>") has prevented the request from succeeding'),
        (
            Reply(b"{}", 500, {"Content-Type": "application/json"}),
            'an error on the server ("unknown") has prevented the request from succeeding',
        ),
        (Reply(b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"}', 403), "no"),
        (Reply(b"hidden", 403, {"Content-Type": "text/plain"}), "hidden"),
        (Reply(b"", 404), "the server could not find the requested resource"),
        (Reply(b"", 302), "the server responded with the status code 302 but did not return more information"),
        (Reply(b""), "0-length response with status code: 200 and content type: application/json"),
    ],
)
async def test_refusals(connect: Connect, webhook: ConversionWebhook, reply: Reply, message: str) -> None:
    """Describe answers that are no success in the reference's words."""
    webhook.answer = lambda _call: reply

    assert await _failure(connect()) == message


async def test_broken_connections(connect: Connect, webhook: ConversionWebhook) -> None:
    """Tell a refused connection from one that ends early, before or within the answer."""
    begin = f'Post "{webhook.url}?timeout=30s": '
    webhook.answer = lambda _call: BREAK
    assert await _failure(connect()) == f"{begin}EOF"
    webhook.answer = lambda _call: Reply(b"x", headers={"Content-Length": "10", "Connection": "close"})
    expected = "unexpected error when reading response body. Please retry. Original error: unexpected EOF"
    assert await _failure(connect()) == expected
    webhook.close()
    assert await _failure(connect()) == f"{begin}dial tcp 127.0.0.1:{webhook.port}: connect: connection refused"


async def test_timeout(connect: Connect, webhook: ConversionWebhook) -> None:
    """Give up after the timeout, and say so. The webhook learns it in whole seconds."""
    webhook.answer = lambda _call: HANG

    with pytest.raises(HookError) as error:
        await connect().post(b"{}", 0.2)

    assert str(error.value) == f'Post "{webhook.url}?timeout=1s": context deadline exceeded'
    # the connection ends with the webhook's side of it
    webhook.release()
    await until(lambda: not webhook.connections)
    await settle()


async def test_large_answers(connect: Connect, webhook: ConversionWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse an answer that is larger than the limit."""
    monkeypatch.setattr(hook_client, "MAX_HOOK_RESPONSE_BYTES", 100)
    webhook.answer = lambda _call: Reply(b"x" * 101)

    assert await _failure(connect()) == "the response of the webhook is larger than 100 bytes"


async def test_forgets_large_answers(connect: Connect, webhook: ConversionWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep no byte of an answer that is too large in the frames of the error."""
    monkeypatch.setattr(hook_client, "MAX_HOOK_RESPONSE_BYTES", 100)
    webhook.answer = lambda _call: Reply(b"x" * 101)
    with pytest.raises(HookError) as error:
        await connect().post(b"{}")
    context = error.value.__context__

    assert context is not None
    assert context.__traceback__ is None
    assert not context.__context__


@pytest.mark.parametrize(
    "hosts, problem",
    [
        (["localhost", "10.0.0.1"], "x509: certificate is valid for 10.0.0.1, not 127.0.0.1"),
        (["localhost"], "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"),
        (["127.0.0.1"], "x509: certificate signed by unknown authority"),
    ],
)
async def test_rejected_certificates(connect: Connect, webhook: ConversionWebhook, tmp_path: Path, hosts: list[str], problem: str) -> None:
    """Describe the certificate of another authority or for other hosts as Go does."""
    webhook.use_certificate(Authority(tmp_path / "other"), *hosts)

    assert await _failure(connect()) == f'Post "{webhook.url}?timeout=30s": tls: failed to verify certificate: {problem}'


async def test_authorities(connect: Connect, webhook: ConversionWebhook) -> None:
    """Trust any certificate of the bundle as an anchor; take those of the system without a bundle."""
    bundle = b"text\n" + webhook.certificate.cert.read_bytes()
    assert await connect(caBundle=base64.b64encode(bundle).decode()).post(b"{}")
    assert "unknown authority" in await _failure(connect(caBundle=base64.b64encode(b" \n").decode()))


async def test_shared_context(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read certificates once for all clients that trust them, and not on the event loop."""
    threads = []

    def made(authorities: tuple[bytes, ...]) -> ssl.SSLContext:
        threads.append(threading.current_thread())
        return tls_context(authorities)

    monkeypatch.setattr(hook_client, "tls_context", made)
    clients = [connect(), connect()]
    for client in (*clients, clients[0]):
        assert await client.post(b"{}")
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


@pytest.mark.parametrize("config", [{}, {"url": "https://localhost", "caBundle": base64.b64encode(b"nothing").decode()}])
def test_unusable_configurations(config: dict[str, Any]) -> None:
    """Reject a clientConfig without an address, and one whose bundle has no certificate."""
    with pytest.raises(ValueError, match=r"webhook configuration must have either service or URL|no valid certificate authority data seen"):
        parse_client_config(config)


async def test_server_without_tls(connect: Connect) -> None:
    """Say so when a server answers in plain HTTP."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        failure = await _failure(connect(url=f"https://127.0.0.1:{port}/"))

    assert failure == f'Post "https://127.0.0.1:{port}/?timeout=30s": http: server gave HTTP response to HTTPS client'


async def test_closed_clients_refuse_calls(webhook: ConversionWebhook) -> None:
    """Refuse calls after the connections were closed, instead of opening new ones that nobody closes."""
    clients = HookClients({}, _read)
    client = clients.client(parse_client_config(webhook.client_config()))
    await client.post(b"{}")
    await clients.close()

    assert await _failure(client) == "the server is shutting down"
    assert len(webhook.calls) == 1


async def test_proxies(connect: Connect, webhook: ConversionWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach a webhook with a URL through the proxy of the environment, and a server without TLS to which it redirects."""
    proxy = Proxy()
    async with proxy.running() as address:
        monkeypatch.setattr(hook_client, "proxy_of", lambda _url: URL(f"http://user:word@{address}"))
        webhook.answer = lambda _call: Reply(code=307, headers={"Location": "http://other.example/a"})

        assert await connect().post(b"{}") == b'{"a": 1}'

    credentials = "Basic dXNlcjp3b3Jk"
    assert proxy.requests == [(f"CONNECT 127.0.0.1:{webhook.port}", credentials), ("POST http://other.example/a", credentials)]


async def test_unreachable_proxies(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Describe a proxy that cannot be reached."""
    monkeypatch.setattr(hook_client, "proxy_of", lambda _url: URL("http://127.0.0.1:1"))

    failure = await _failure(connect(url="https://other.example/a"))
    expected = 'Post "https://other.example/a?timeout=30s": proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused'
    assert failure == expected


async def test_new_credentials_need_new_connections(webhook: ConversionWebhook, tmp_path: Path) -> None:
    """Send a request that is rejected again with a new credential, on a new connection: it may have another certificate."""
    plugin = tmp_path / "plugin"
    status = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"\'$(wc -l < runs)\'"}}'
    plugin.write_text(f"#!/bin/sh\ncd {tmp_path}\necho >> runs\necho '{status}'\n")
    plugin.chmod(0o755)
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    clients = HookClients({}, _read, HookUsers({"users": [{"name": "*", "user": {"exec": command}}]}, tmp_path))
    webhook.answer = lambda call: Reply(b"done") if call.headers["authorization"] == "Bearer 2" else Reply(b"no", 401)

    assert await clients.client(parse_client_config(webhook.client_config())).post(b"{}") == b"done"

    assert [call.headers["authorization"] for call in webhook.calls] == ["Bearer 1", "Bearer 2"]
    assert webhook.accepted == 2
    await clients.close()


async def test_calls_at_the_same_time_share_credentials(webhook: ConversionWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare the credentials of a webhook once, even if its first calls come together: their connections get one certificate."""
    prepared: list[ssl.SSLContext] = []
    endpoint = HookUser.endpoint

    def recorded(user: HookUser, url: str, context: ssl.SSLContext) -> Endpoint:
        prepared.append(context)
        return endpoint(user, url, context)

    monkeypatch.setattr(HookUser, "endpoint", recorded)
    clients = HookClients({}, _read, HookUsers({"users": [{"name": "*", "user": {"token": "secret"}}]}, Path()))
    client = clients.client(parse_client_config(webhook.client_config()))
    await asyncio.gather(*(client.post(b"{}") for _ in range(3)))

    assert [call.headers["authorization"] for call in webhook.calls] == ["Bearer secret"] * 3
    assert len(prepared) == 1
    await clients.close()


@pytest.mark.parametrize("scheme", ["ftp", "ws", "gopher"])
async def test_redirects_to_other_protocols(connect: Connect, webhook: ConversionWebhook, scheme: str) -> None:
    """Send nothing to a server that a redirect names and that may not speak HTTP."""
    url = f"{scheme}://127.0.0.1:{webhook.port}/a"
    webhook.answer = lambda _call: Reply(code=307, headers={"Location": url})

    assert await _failure(connect()) == f'Post "{url}": unsupported protocol scheme "{scheme}"'
    assert len(webhook.calls) == webhook.accepted == 1


async def test_malformed_credentials(webhook: ConversionWebhook) -> None:
    """Send no credential that is not one header field."""
    users = HookUsers({"users": [{"name": "*", "user": {"token": "a\r\nb: c"}}]}, Path())
    clients = HookClients({}, _read, users)

    failure = await _failure(clients.client(parse_client_config(webhook.client_config())))
    assert failure.endswith(': net/http: invalid header field value for "Authorization"')
    assert not webhook.calls
    await clients.close()


async def test_agrees_on_http_1(tmp_path: Path) -> None:
    """Ask a server that has HTTP/2 for HTTP/1.1."""
    authority, clients = Authority(tmp_path / "ca"), HookClients({}, _read)
    tls, server = server_tls(authority.issue("server")), RawServer([b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext"])
    tls.set_alpn_protocols(["h2", "http/1.1"])
    async with server.running(tls) as port:
        bundle = base64.b64encode(authority.cert.read_bytes()).decode()
        config = parse_client_config({"url": f"https://127.0.0.1:{port}/", "caBundle": bundle})
        assert await clients.client(config).post(b"{}") == b"text"
        await clients.close()

    assert server.protocols == ["http/1.1"]
