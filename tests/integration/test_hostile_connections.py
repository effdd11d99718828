"""Tests that hostile connections cost a bounded amount of memory, get no 5xx, and leave other clients alone."""

import http.client
import ssl
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import pytest

from apiext.base.meta.limits import MAX_UNAUTHENTICATED_CONNECTIONS
from hack.lib.servers import tls_connection
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from tests.support.clients.client import Client

NAMESPACES: Final = b"/api/v1/namespaces"
MANY: Final = 700
"""Connections, more than the server keeps without an authenticated request."""
RESIDENT_MIB: Final = 50
"""MiB that the server may be larger after an attack."""
BYTES: Final = (b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\x01", "\u00e9".encode(), b"%ff", b"%zz", b'"', b"\t", b";=")
HEADERS: Final = (
    *(b"Accept", b"Content-Type", b"User-Agent", b"Authorization", b"Audit-Id", b"Origin", b"Traceparent", b"If-None-Match", b"Host"),
    *(b"Impersonate-User", b"Impersonate-Group", b"Impersonate-Extra-a", b"Sec-WebSocket-Protocol", b"Upgrade", b"Accept-Encoding"),
    *(b"X-Remote-User", b"X-Remote-Group", b"X-Remote-Uid", b"X-Remote-Extra-a", b"Content-Encoding", b"Transfer-Encoding", b"Cookie"),
)
PARAMETERS: Final = (
    *(b"labelSelector", b"fieldSelector", b"limit", b"continue", b"resourceVersion", b"resourceVersionMatch", b"timeoutSeconds"),
    *(b"timeout", b"pretty", b"fieldManager", b"fieldValidation", b"dryRun", b"propagationPolicy", b"sendInitialEvents"),
)


class Attacked:
    """A server that trusts front proxies, and clients with and without a certificate."""

    def __init__(self, server: ApiextServer, proxies: Authority) -> None:
        self.server = server
        self.anonymous, self.admin = server.ssl_context(credentials=False), server.ssl_context()
        proxy = proxies.issue("any")
        self.proxy = server.ssl_context(credentials=False)
        self.proxy.load_cert_chain(proxy.cert, proxy.key)

    def connect(self, context: ssl.SSLContext) -> ssl.SSLSocket:
        """Open a connection."""
        return tls_connection.connect(context, self.server.port, timeout=60)

    def ask(self, context: ssl.SSLContext, data: bytes) -> bytes:
        """Send bytes on a connection of their own, and return what the server sends until it closes the connection."""
        received = b""
        with self.connect(context) as connection, suppress(OSError):
            with suppress(OSError):
                connection.sendall(data)
            while piece := connection.recv(65536):
                received += piece
        return received

    def codes(self, context: ssl.SSLContext, heads: Iterable[bytes]) -> dict[bytes, int]:
        """Return the status code of the answer to each head, all sent on one connection unless the server closes it."""
        codes = {}
        with ExitStack() as stack:
            connection: ssl.SSLSocket | None = None
            for head in heads:
                connection = connection or stack.enter_context(self.connect(context))
                connection.sendall(head)
                answer = http.client.HTTPResponse(connection)
                answer.begin()
                answer.read()
                codes[head] = answer.status
                if answer.will_close:
                    connection = None
        return codes

    def resident(self) -> float:
        """Return the MiB of memory that the server occupies."""
        pages = int(Path(f"/proc/{self.server.pid}/statm").read_text().split()[1])
        return pages / 256


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """Start a server for the tests of this file."""
    folder = tmp_path_factory.mktemp("attacked")
    proxies = Authority(folder / "proxies")
    with ApiextServer(folder, extra_args=[f"--requestheader-client-ca-file={proxies.cert}"]) as server:
        yield Attacked(server, proxies)


def test_idle_connections(attacked: Attacked) -> None:
    """Bound the memory of idle TLS connections, close the surplus ones, and serve authenticated clients, old and new."""
    before = attacked.resident()
    with ExitStack() as stack, Client(attacked.server) as client:
        client.must("GET", NAMESPACES.decode())
        idle = [stack.enter_context(attacked.connect(attacked.anonymous)) for _ in range(MANY)]

        client.must("GET", NAMESPACES.decode())
        assert attacked.server.request("GET", NAMESPACES.decode())[0] == http.client.OK
        assert attacked.resident() - before < RESIDENT_MIB
        assert [idle[number].recv(1) for number in range(MANY - MAX_UNAUTHENTICATED_CONNECTIONS)] == [b""] * (
            MANY - MAX_UNAUTHENTICATED_CONNECTIONS
        )


def test_unfinished_heads(attacked: Attacked) -> None:
    """Return the memory of unfinished heads after their clients left."""
    before = attacked.resident()
    with ExitStack() as stack:
        for _ in range(300):
            connection = stack.enter_context(attacked.connect(attacked.anonymous))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n" + b"".join(b"A%d: %b\r\n" % (field, b"a" * 15_000) for field in range(16)))
        assert attacked.server.request("GET", NAMESPACES.decode())[0] == http.client.OK

    attacked.server.process.wait_until(lambda: attacked.resident() - before < RESIDENT_MIB, 60.0)


@pytest.mark.parametrize("size", [60_000, 900_000])
def test_large_accept_header(attacked: Attacked, size: int) -> None:
    """Refuse a line of a head beyond the limit, and negotiate with a shorter one."""
    head = b"GET %b HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept: %b\r\n\r\n" % (NAMESPACES, b"a/b;q=0.5," * (size // 10))

    answers = [attacked.ask(context, head)[:13] for context in (attacked.anonymous, attacked.admin)]

    assert answers == ([b"HTTP/1.1 403 ", b"HTTP/1.1 406 "] if size < 65_536 else [b"HTTP/1.1 431 "] * 2)


def test_groups_of_front_proxies(attacked: Attacked) -> None:
    """Take thousands of groups from a front proxy, and not from another client; a certificate without authority changes nothing."""
    head = b"GET %b HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Remote-User: ann\r\nX-Remote-Group: system:masters\r\n%b\r\n"
    groups = {count: b"".join(b"X-Remote-Group: group-%d\r\n" % number for number in range(count)) for count in (1_000, 16_000, 17_000)}

    answers = {
        who: [attacked.ask(context, head % (NAMESPACES, text))[:13] for text in groups.values()]
        for who, context in (("proxy", attacked.proxy), ("admin", attacked.admin), ("anonymous", attacked.anonymous))
    }

    refused = b"HTTP/1.1 431 "
    assert answers == {"proxy": [b"HTTP/1.1 200 ", b"HTTP/1.1 200 ", refused], "admin": [refused] * 3, "anonymous": [refused] * 3}


@pytest.mark.parametrize("authenticated", [False, True])
def test_tiny_chunks(attacked: Attacked, *, authenticated: bool) -> None:
    """Refuse a client without credentials before its body, and read the body of another one."""
    head = b"POST %b HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" % NAMESPACES

    answer = attacked.ask(attacked.admin if authenticated else attacked.anonymous, head + b"1\r\n \r\n" * 20_000 + b"0\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400 " if authenticated else b"HTTP/1.1 403 ")
    assert b"\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize("text", BYTES)
def test_odd_bytes(attacked: Attacked, text: bytes) -> None:
    """Answer bytes that are not UTF-8, control characters and odd escapes in heads with a code below 500."""
    get = b"GET %b HTTP/1.1\r\n%b: %b\r\nHost: h\r\n\r\n"
    user = b"X-Remote-User: ann\r\nX-Remote-Group: system:masters\r\n"
    paths = [NAMESPACES + b"?%b=%b" % (name, text) for name in PARAMETERS]
    paths += [path + text for path in (b"/", b"/apis/", NAMESPACES + b"/", b"/openapi/v3/", b"/livez/")]

    codes = attacked.codes(attacked.admin, [get % (NAMESPACES, header, text) for header in HEADERS])
    codes |= attacked.codes(attacked.proxy, [get % (NAMESPACES, user + header, text) for header in HEADERS])
    codes |= attacked.codes(attacked.admin, [get % (path, b"A", b"a") for path in paths])

    assert {head: code for head, code in codes.items() if code >= http.client.INTERNAL_SERVER_ERROR} == {}
    assert "Traceback" not in attacked.server.log
