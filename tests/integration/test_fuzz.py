"""Tests that every request gets a precise response and leaves the stored objects intact."""

import http.client
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hack.lib.servers import tls_connection
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.soak.answers import REFERENCE_ERRORS
from tests.support.builders import fuzz
from tests.support.builders.crds import widget, widget_crd
from tests.support.builders.fuzz_definitions import definitions
from tests.support.builders.seeds import EXPLORING
from tests.support.clients.client import CRDS, MERGE_PATCH, Client, Reply

# A plain run repeats the same examples each time: only an exploring one finds more by more of them.
MANY: Final = 600 if EXPLORING else 200
few_or_many = pytest.mark.parametrize(
    "examples",
    [
        pytest.param(60, marks=pytest.mark.sample, id="few"),
        pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.long("hack/lib/fuzz"), pytest.mark.timeout(600)], id="many"),
    ],
)
KEPT: Final = "/apis/kept.example.com/v1/namespaces/default/keepers"
THINGS: Final = "things.example.com"

NO_SUCH_PATH: Final = re.compile(rb'Internal Server Error: ".*": failed to create RequestInfo: ')


class Fuzzed:
    """The server, a client of it, and an object that no request may change."""

    def __init__(self, server: ApiextServer, client: Client) -> None:
        self.server = server
        self.client = client
        client.define(widget_crd(group=fuzz.GROUP))
        client.define(widget_crd("keepers", "Keeper", group="kept.example.com"))
        keeper = {"apiVersion": "kept.example.com/v1", "kind": "Keeper", "metadata": {"name": "kept"}, "spec": {"any": {"é": [1.50, None]}}}
        client.must("POST", KEPT, keeper)
        self._read = len(server.log)
        self._before = client.ask("GET", f"{KEPT}/kept").body

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Reply:
        """Send a request and assert that its response is sound."""
        reply = self.client.ask(method, path, body, headers, streams=False)
        if method == "HEAD" and reply.status >= 500:
            return self.ask("GET", path, body, headers)  # the message has the reason
        assert_sound(reply, method)
        return reply

    def verify(self) -> None:
        """Assert that the untouched object is unchanged and that the log has no error."""
        assert self.client.ask("GET", f"{KEPT}/kept").body == self._before
        assert self.client.ask("GET", "/readyz").status == 200
        for path in (fuzz.WIDGETS, CRDS):
            for item in self.client.must("GET", path)["items"]:
                alone = self.client.must("GET", f"{path}/{item['metadata']['name']}")
                assert {key: item.get(key) for key in ("metadata", "spec", "status")} == {
                    key: alone.get(key) for key in ("metadata", "spec", "status")
                }
        printed = self.server.log[self._read :]
        self._read += len(printed)
        assert "Traceback" not in printed, printed


def assert_sound(reply: Reply, method: str) -> None:
    """Assert that an error is a Status in the requested media type, or a line of text for a path without a resource, and no 5xx."""
    assert b"Traceback" not in reply.body
    if reply.status < 400 or method == "HEAD":
        assert reply.status < 500
        return
    media_type = reply.headers.get_content_type()
    if media_type == "text/plain":
        assert reply.status in {400, 403, 404, 405, 406} or NO_SUCH_PATH.match(reply.body), (reply.status, reply.body)
        return
    if reply.status == http.client.PRECONDITION_FAILED:
        assert reply.body == b""
        return
    if media_type == "application/vnd.kubernetes.protobuf":
        assert reply.body.startswith(b"k8s\x00")
        assert reply.status < 500
        return
    status = yaml.safe_load(reply.body) if media_type == "application/yaml" else orjson.loads(reply.body)
    assert (status["kind"], status["apiVersion"], status["status"], status["code"]) == ("Status", "v1", "Failure", reply.status)
    assert status["message"]
    assert reply.status < 500 or REFERENCE_ERRORS.fullmatch(status["message"]), status


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    """Start a server for the tests of this file."""
    with ApiextServer(tmp_path_factory.mktemp("fuzzed")) as server, Client(server) as client:
        yield Fuzzed(server, client)


def explore(examples: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    """Check the given number of examples."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def run(example: Any) -> None:
        check(example)

    run()


@few_or_many
def test_requests(fuzzed: Fuzzed, examples: int) -> None:
    """Answer any method, path, query, headers and body soundly on one connection."""

    def check(drawn: tuple[str, str, str, dict[str, str], bytes | None]) -> None:
        method, path, query, headers, body = drawn
        if method == "DELETE" and path.startswith(CRDS):
            return  # The request would delete the collection.
        fuzzed.ask(method, f"{path}?{query}" if query else path, body, headers)

    explore(5 * examples, st.tuples(fuzz.METHODS, fuzz.PATHS, fuzz.QUERIES, fuzz.HEADERS, st.none() | fuzz.BODIES), check)
    fuzzed.verify()


@few_or_many
def test_created_whole_or_not_at_all(fuzzed: Fuzzed, examples: int) -> None:
    """Store nothing for a refused object, and exactly the response for an accepted one."""

    def check(drawn: tuple[dict[str, Any], str]) -> None:
        body, mode = drawn
        path = f"{fuzz.WIDGETS}/new"
        reply = fuzzed.ask("POST", f"{fuzz.WIDGETS}?fieldValidation={mode}", fuzz.encoded(body), {"Content-Type": "application/json"})
        name = reply.json["metadata"]["name"] if reply.status == 201 else "new"
        found = fuzzed.ask("GET", f"{fuzz.WIDGETS}/{name}")
        assert (found.status, found.body) == (200, reply.body) if reply.status == 201 else found.status == 404
        if reply.status == 201:
            path = f"{fuzz.WIDGETS}/{name}"
            fuzzed.client.merge(path, {"metadata": {"finalizers": None}})
            fuzzed.ask("DELETE", path)

    explore(3 * examples, st.tuples(fuzz.widgets("new"), st.sampled_from(["Strict", "Warn", "Ignore"])), check)
    fuzzed.verify()


def _of_version(body: bytes, current: bytes) -> bytes:
    """Return the body with the current resourceVersion if it has one."""
    try:
        obj = json.loads(body)
        obj["metadata"].setdefault("resourceVersion", json.loads(current)["metadata"]["resourceVersion"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return body
    return fuzz.encoded(obj)


@few_or_many
def test_changed_whole_or_not_at_all(fuzzed: Fuzzed, examples: int) -> None:
    """Change not one byte for a refused patch or update; store exactly the response for an accepted one."""
    path = f"{fuzz.WIDGETS}/subject"
    subject = widget("subject", group=fuzz.GROUP, replicas=1, any={"a": [1, {"b": None}]})

    def check(drawn: tuple[str, tuple[str, bytes]]) -> None:
        subresource, (media_type, body) = drawn
        if fuzzed.client.ask("GET", path).status == 404:
            fuzzed.client.must("POST", fuzz.WIDGETS, subject)
        before = fuzzed.ask("GET", path).body
        method = "PATCH" if "patch" in media_type else "PUT"
        if method == "PUT":
            body = _of_version(body, before)
        reply = fuzzed.ask(method, path + subresource, body, {"Content-Type": media_type})
        after = fuzzed.ask("GET", path).body
        if reply.status >= 300:
            assert after == before
        elif subresource != "/scale":
            assert after == reply.body
        fuzzed.client.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)

    explore(4 * examples, st.tuples(st.sampled_from(["", "", "/status", "/scale"]), fuzz.PATCHES), check)
    fuzzed.client.must("DELETE", path)
    fuzzed.verify()


@few_or_many
def test_definitions(fuzzed: Fuzzed, examples: int) -> None:
    """Refuse a definition, or serve and delete it with its resources."""

    def check(drawn: tuple[dict[str, Any], Any, Any]) -> None:
        crd, value, other = drawn
        reply = fuzzed.ask("POST", CRDS, fuzz.encoded(crd), {"Content-Type": "application/json"})
        name = f"things.{THINGS}"
        if reply.status != 201:
            assert fuzzed.ask("GET", f"{CRDS}/{name}").status == 404
            return
        fuzzed.client.until_established(name)
        for version in (one["name"] for one in reply.json["spec"]["versions"]):
            collection = f"/apis/{THINGS}/{version}/things"
            body = {"apiVersion": f"{THINGS}/{version}", "kind": "Thing", "metadata": {"name": "a"}, "spec": value, "a": other}
            fuzzed.ask("POST", collection, fuzz.encoded(body), {"Content-Type": "application/json"})
            fuzzed.ask("GET", f"{collection}/a/scale")
            fuzzed.ask("GET", collection, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
            fuzzed.ask("GET", f"/openapi/v3/apis/{THINGS}/{version}")
        assert fuzzed.ask("GET", "/openapi/v2").status == fuzzed.ask("GET", "/apis").status == 200
        fuzzed.client.must("DELETE", f"{CRDS}/{name}")
        fuzzed.client.until_gone(CRDS, name)

    explore(2 * examples, st.tuples(definitions(THINGS), fuzz.VALUES, fuzz.VALUES), check)
    fuzzed.verify()


_LINES: Final = st.sampled_from(
    [
        b"GET / HTTP/1.1",
        b"GET /apis HTTP/1.1\r\nHost: a",
        b"POST /apis HTTP/1.1\r\nHost: a\r\nContent-Length: -1",
        b"POST /apis HTTP/1.1\r\nHost: a\r\nContent-Length: 5",
        b"POST /apis HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked",
        b"GET /apis HTTP/9.9\r\nHost: a",
        b"PRI * HTTP/2.0",
        b"GET " + b"/a" * 40000 + b" HTTP/1.1\r\nHost: a",
        b"X: " + b"a" * 9000,
        b"Connection: Upgrade\r\nUpgrade: websocket",
        b"Expect: 100-continue",
        b"zz",
        b"5\r\nab",
        b"\x00",
        b"",
    ]
)


_LAST: Final = b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
_TOGETHER: Final = 10
"""Connections that send malformed HTTP at the same time."""


@few_or_many
def test_bytes(fuzzed: Fuzzed, examples: int) -> None:
    """Answer malformed HTTP with an error or the end of the connection, and keep serving other clients."""
    context = fuzzed.server.ssl_context()

    def send(lines: list[bytes]) -> bytes:
        received = b""
        with tls_connection.connect(context, fuzzed.server.port, timeout=30) as connection:
            # A server that waits for more bytes sends nothing; the wait ends early, since most examples are incomplete.
            connection.settimeout(0.1)
            with suppress(OSError):
                connection.sendall(b"\r\n".join([*lines, b"", b"", _LAST]))
                while block := connection.recv(65536):
                    received += block
        return received

    def check(some: list[list[bytes]]) -> None:
        with ThreadPoolExecutor(_TOGETHER) as threads:
            answers = list(threads.map(send, some))
        for received in answers:
            assert not received or re.match(rb"HTTP/1\.[01] ([1-4]\d\d|505) ", received), received[:200]
            assert b"Traceback" not in received
        assert fuzzed.client.ask("GET", "/livez").status == http.client.OK

    requests = st.lists(_LINES | st.binary(max_size=20), max_size=5)
    explore(examples // _TOGETHER, st.lists(requests, min_size=_TOGETHER, max_size=_TOGETHER), check)
    fuzzed.verify()
