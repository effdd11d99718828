"""HTTP to the letter: methods, paths, heads, bodies and packed answers, held against the reference."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import pytest

from tests.differential.helpers.pair import Pair, Step
from tests.differential.helpers.wire import Raw, differing, head, request
from tests.support.servers.in_process import CRDS, definition

pytestmark = pytest.mark.slow

GROUP: Final = "http.example.com"
ROOT: Final = f"/apis/{GROUP}/v1"
BASE: Final = f"{ROOT}/namespaces/default/widgets"
JSON: Final = ("Content-Type", "application/json")
LIMIT: Final = 3 * 1024 * 1024
THRESHOLD: Final = 128 * 1024

PATHS: Final = (
    *(BASE, f"{BASE}/a", f"{BASE}/a/status", f"{BASE}/a/unknown", f"{BASE}/a/status/more", f"{ROOT}/widgets", f"{ROOT}/widgets/a"),
    *("/healthz", "/livez", "/readyz/ping", "/unknown", "/apis/no.such.group/v1/ws", f"/apis/{GROUP}/v2/widgets", f"/apis/{GROUP}"),
    *("/api/v1/namespaces", "/api/v1/namespaces/default", CRDS, f"{CRDS}/widgets.{GROUP}"),
)
ODD_PATHS: Final = (
    *(f"{BASE}/", f"{BASE}/a/", f"/{BASE}", f"/apis//{GROUP}/v1/widgets", f"/apis/./{GROUP}/v1/widgets", f"{BASE}/..", f"{BASE}/../a"),
    *("/healthz/", "//healthz", "/metrics/", "/index.html/", "/openapi/v2/", "/openapi/v3/", f"{BASE}/%61", f"{BASE}/a%2Fb", f"{BASE}%2Fa"),
    *(f"{BASE}/a%00", f"{BASE}/%zz", f"{BASE}/%", f"{BASE}/%E4%B8%AD", f"{BASE}/a%20b", f"{BASE}/a+b", f"{BASE}/a;b", f"{BASE}/%2e%2e"),
    *(f"{BASE}/a#fragment", f"{BASE}?x=#fragment", f"{BASE}/a?", f"{BASE}/a?a=b?c=d", f"{BASE}?x={'y' * 9000}", f"{BASE}/{'x' * 300}"),
    *(
        f"{ROOT}/watch",
        f"{ROOT}/proxy/x",
        "/api/v1/watch",
        f"{ROOT}/namespaces",
        f"{ROOT}/namespaces/default",
        f"{ROOT}/namespaces//widgets",
    ),
    *("http://other/healthz", "https://h:80/healthz", "http://other", "*", "healthz", "mailto:x"),
)
QUERIES: Final = (
    *("limit=1&limit=2", "limit=x", "limit=-1", "limit=%zz", "%zz=1", "limit=1;x=2", "a;b=c", "timeoutSeconds=x", "resourceVersion=abc"),
    *("labelSelector=a%3Db&labelSelector=!!", "fieldSelector=spec.x%3Da", "pretty=1&pretty=0", "pretty=abc", "timeout=1s", "timeout=x"),
    *("timeout=-1s", "timeout=0", "timeout=", "timeout=1s&timeout=x", "timeout=1ns", "timeout=x;y", "resourceVersionMatch=Foo"),
)
HEADS: Final = (
    *(head(f"{method} {BASE}/a HTTP/1.1", "Host: h", "Connection: close") for method in ("get", "Get", "G@T", "GE,T", "A'B")),
    *(head(f"GET /healthz HTTP/{version}", "Host: h", "Connection: close") for version in ("1.2", "0.9", "2.0", "3.0", "x", "1")),
    *(head("GET /healthz HTTP/1.0"), head("GET /healthz HTTP/1.0", "Connection: keep-alive")),
    *(head("GET /healthz HTTP/1.1", *lines, "Connection: close") for lines in ((), ("Host: a", "Host: b"), ("Host: a b",), ("Host:",))),
    *(
        head("GET /healthz HTTP/1.1", "Host: h", line, "Connection: close")
        for line in ("X y: 1", "nothing", "X-A : b", ": b", "X-A: a\x00b", "X-A: a\xe9b", "X-A: b\r\n c", "Expect: x", "Content-Length: x")
    ),
    head("GET /healthz HTTP/1.1", " X-A: b", "Host: h"),
    head("GET /healthz HTTP/1.1", "Host: h", "Connection: close", ending="\n"),
    head("GET /healthz HTTP/1.1", "Host: h", f"X-A: {'a' * 900_000}", "Connection: close"),
    head("GET /healthz HTTP/1.1", "Host: h", "Connection: close", *(f"X-{number}: a" for number in range(1500))),
    head("GET /healthz HTTP/1.1", "Host: h", "Connection: close", "X-A: b", " ", "\tc"),
    *(
        head("GET /healthz HTTP/1.1", "Host: h", line, "Connection: close")
        for line in ("Transfer-Encoding:", "Transfer-Encoding: gzip, chunked")
    ),
    *(head("", f"{method} /healthz HTTP/1.1", "Host: h", "Connection: close") for method in ("GET", "FOO")),
    *(head(f"GET{line}", "Host: h", "Connection: close") for line in ("  /healthz HTTP/1.1", " /healthz  HTTP/1.1", "\t/healthz HTTP/1.1")),
    *(
        head(f"GET {path} HTTP/1.1", "Host: h", "Connection: close")
        for path in ("/%e4%bf", "/apis/%ff/v1/x", "/\xff", f"{BASE}?labelSelector=\xff", f"{BASE}?x=\xff%ff")
    ),
    head("GET /healthz HTTP/1.1 more", "Host: h"),
    head("GET  HTTP/1.1", "Host: h"),
    head("OPTIONS * HTTP/1.1", "Host: h", "Connection: close"),
)
TYPES: Final = (
    *("application/json; charset=utf-8", "APPLICATION/JSON", "application/json;", "application/json; a", "application/json;a=b;a=c"),
    *(
        "application/json, text/plain",
        "text/plain",
        "*/*",
        "json",
        "",
        ";",
        "application/x-www-form-urlencoded",
        "application/json;a=b;a=b",
    ),
)


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Both servers with a kind and one object of it."""
    with pair.served(definition(group=GROUP)):
        for side in (pair.reference, pair.ours):
            side.raw(Step("POST", BASE, _widget("a")))
        yield pair


def _widget(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def _check(pair: Pair, raws: list[Raw]) -> None:
    found = differing(pair, raws)

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


def test_methods(served: Pair) -> None:
    """Any method is one, on every kind of path."""
    _check(served, [request(method, path) for path, method in product(PATHS, ("HEAD", "OPTIONS", "FOO", "TRACE", "CONNECT", "PROPFIND"))])


def test_writes_to_what_cannot_be_written(served: Pair) -> None:
    """Health, unknown paths, and collections that are not."""
    paths = f"{ROOT}/widgets", f"{BASE}/a/unknown", BASE, f"/apis/{GROUP}/v2/widgets", "/healthz", "/unknown", "/index.html/"
    pairs = [(method, path) for path, method in product(paths, ("POST", "PUT", "DELETE")) if (method, path) != ("DELETE", BASE)]

    _check(served, [request(method, path) for method, path in pairs])


def test_paths(served: Pair) -> None:
    """Slashes, dots, escapes, fragments and targets with a host."""
    _check(served, [request("GET", path) for path in ODD_PATHS])


def test_queries(served: Pair) -> None:
    """Parameters more than once, and such as nobody can read."""
    _check(served, [request("GET", f"{BASE}?{query}") for query in QUERIES])


def test_heads(served: Pair) -> None:
    """What is a request and what is not, and how that is said."""
    _check(served, list(HEADS))


def test_framing(served: Pair) -> None:
    """Lengths and chunks: which counts, and which is refused."""
    path = f"{BASE}?dryRun=All"
    body = json.dumps(_widget("b")).encode()
    chunks = b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (10, body[:10], len(body) - 10, body[10:])
    length, chunked = ("Content-Length", str(len(body))), ("Transfer-Encoding", "chunked")
    cases = [
        ([chunked], chunks),
        ([chunked], chunks[:-2] + b"X-A: b\r\n\r\n"),
        ([chunked], b"zz\r\nabc\r\n"),
        ([chunked, ("Content-Length", "5")], chunks),
        ([length, length], body),
        ([length, ("Content-Length", "3")], body),
        ([("Content-Length", "+5")], b""),
        ([("Transfer-Encoding", "gzip")], b""),
        ([chunked, chunked], b""),
        ([length, ("Content-Encoding", "gzip")], body),
        ([length, ("Expect", "100-continue")], body),
        ([JSON, ("Content-Type", "text/plain"), length], body),
    ]

    _check(served, [Raw(str(headers), request("POST", path, [JSON, *headers]).data + data, "POST") for headers, data in cases])


def test_bodies_that_are_not_awaited(served: Pair) -> None:
    """A client that waits to be asked for its body is not asked where nobody reads it."""
    path, expects = "/unknown", ("Expect", "100-continue")

    _check(
        served, [request("POST", path, [JSON, expects, ("Content-Length", "5")]), request("POST", BASE, [("Content-Type", "x/y"), expects])]
    )


def test_limits(served: Pair) -> None:
    """Bodies of more than 3 MiB are refused by every verb, those of just so much are read."""
    small = json.dumps(_widget("b", x="")).encode()
    large = small + b" " * (LIMIT + 1 - len(small))
    patches = ("application/merge-patch+json", "application/json-patch+json")
    writes = [("POST", BASE, JSON), ("PUT", f"{BASE}/a", JSON), ("DELETE", f"{BASE}/a", JSON), ("DELETE", BASE, JSON), ("POST", CRDS, JSON)]
    writes += [("PATCH", f"{BASE}/a", ("Content-Type", patch)) for patch in patches]
    parts = [large[at : at + 2**20] for at in range(0, len(large), 2**20)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    raws = [request(method, path, [media], large, label=f"{method} {path} {media}") for method, path, media in writes]
    raws.append(request("POST", f"{BASE}?dryRun=All", [JSON], large[:-1], label="just so much"))
    raws.append(Raw("chunks", request("POST", BASE, [JSON, ("Transfer-Encoding", "chunked")]).data + chunks, "POST"))

    _check(served, raws)


def test_content_types(served: Pair) -> None:
    """With parameters, without a type, and what is none."""
    body = json.dumps(_widget("b")).encode()
    places = ("POST", f"{BASE}?dryRun=All", body), ("DELETE", f"{BASE}/missing", b"{}"), ("PUT", f"{BASE}/a?dryRun=All", body)

    _check(served, [request(method, path, [("Content-Type", kind)], data) for (method, path, data), kind in product(places, TYPES)])


def test_packed_answers(served: Pair) -> None:
    """From 128 KiB on, for who takes gzip and says so plainly."""
    pads = _pad(served)
    accepted = ("gzip", "GZIP", "gzip;q=1", "gzip, deflate", "br,gzip , x", "deflate", "*", "")
    headers = [[("Accept-Encoding", text)] for text in accepted]
    raws = [request("GET", f"{BASE}/{name}", header, body_counts=False) for name, header in product(pads, headers)]
    raws += [request("GET", BASE, header, body_counts=False) for header in headers]
    raws += [request("HEAD", f"{BASE}/above", headers[0])]

    try:
        _check(served, raws)
    finally:
        for side, name in product((served.reference, served.ours), pads):
            side.raw(Step("DELETE", f"{BASE}/{name}"))


def _pad(pair: Pair) -> tuple[str, str]:
    """Two objects on each side, of as many bytes as are not packed, and of one more."""
    for side in (pair.reference, pair.ours):
        for name, size in (("at", THRESHOLD), ("above", THRESHOLD + 1)):
            side.raw(Step("POST", BASE, _widget(name, any={"x": ""})))
            length, rest = len(side.raw(Step("GET", f"{BASE}/{name}"))[1]), 0
            for _ in range(2):
                # the first patch changes the managed fields, too
                rest += size - length
                side.raw(Step("PATCH", f"{BASE}/{name}", {"spec": {"any": {"x": "y" * rest}}}))
                length = len(side.raw(Step("GET", f"{BASE}/{name}"))[1])
            assert length == size
    return "at", "above"
