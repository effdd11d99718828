"""Compare methods, paths, headers, bodies and compressed answers with the reference, as far as HTTP clients can send them."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.wire import Raw, differing, head, request
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import CRDS

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
    *(f"{BASE}/a?", f"{BASE}/a?a=b?c=d", f"{BASE}?x={'y' * 9000}", f"{BASE}/{'x' * 300}"),
    *(
        f"{ROOT}/watch",
        f"{ROOT}/proxy/x",
        "/api/v1/watch",
        f"{ROOT}/namespaces",
        f"{ROOT}/namespaces/default",
        f"{ROOT}/namespaces//widgets",
    ),
    *("http://other/healthz", "https://h:80/healthz", "http://other"),
)
QUERIES: Final = (
    *("limit=1&limit=2", "limit=x", "limit=-1", "limit=%zz", "%zz=1", "limit=1;x=2", "a;b=c", "timeoutSeconds=x", "resourceVersion=abc"),
    *("labelSelector=a%3Db&labelSelector=!!", "fieldSelector=spec.x%3Da", "pretty=1&pretty=0", "pretty=abc", "timeout=1s", "timeout=x"),
    *("timeout=-1s", "timeout=0", "timeout=", "timeout=1s&timeout=x", "timeout=x;y", "resourceVersionMatch=Foo"),
)
HEADS: Final = (
    *(head("GET /healthz HTTP/1.0"), head("GET /healthz HTTP/1.0", "Connection: keep-alive")),
    *(
        head("GET /healthz HTTP/1.1", "Host: h", line, "Connection: close")
        for line in ("X-A: a\xe9b", "X-A:", "Expect: x", "Expect: 100-continue", "Content-Length: 0", "Connection: upgrade\r\nUpgrade: h2c")
    ),
    head("GET /healthz HTTP/1.1", "Host:", "Connection: close"),
    *(head(f"GET {path} HTTP/1.1", "Host: h", "Connection: close") for path in ("/%e4%bf", "/apis/%ff/v1/x")),
    head("GET /healthz HTTP/1.1", "Host: h", f"X-A: {'a' * 60_000}", "Connection: close"),
    head("GET /healthz HTTP/1.1", "Host: h", "Connection: close", *(f"X-{number}: a" for number in range(900))),
)
TYPES: Final = (
    *("application/json; charset=utf-8", "APPLICATION/JSON", "application/json;", "application/json; a"),
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
    """Return both servers with one definition and one object."""
    with pair.served(widget_crd(group=GROUP)):
        for side in (pair.reference, pair.ours):
            side.raw(Step("POST", BASE, _widget("a")))
        yield pair


def _widget(name: str, **spec: Any) -> dict[str, Any]:
    return widget(name, group=GROUP, **spec)


def _check(pair: Pair, raws: list[Raw]) -> None:
    assert_none(differing(pair, raws))


def test_methods(served: Pair) -> None:
    """Answer methods that Kubernetes does not use as the reference does, on every kind of path."""
    _check(served, [request(method, path) for path, method in product(PATHS, ("HEAD", "OPTIONS", "TRACE", "PROPFIND"))])


def test_refuses_writes_to_unwritable_paths(served: Pair) -> None:
    """Refuse writes to health checks, unknown paths and unknown collections as the reference does."""
    paths = f"{ROOT}/widgets", f"{BASE}/a/unknown", BASE, f"/apis/{GROUP}/v2/widgets", "/healthz", "/unknown", "/index.html/"
    pairs = [(method, path) for path, method in product(paths, ("POST", "PUT", "DELETE")) if (method, path) != ("DELETE", BASE)]

    _check(served, [request(method, path) for method, path in pairs])


def test_paths(served: Pair) -> None:
    """Answer slashes, dots, escapes and targets with a host as the reference does."""
    _check(served, [request("GET", path) for path in ODD_PATHS])


def test_queries(served: Pair) -> None:
    """Answer repeated and malformed parameters as the reference does."""
    _check(served, [request("GET", f"{BASE}?{query}") for query in QUERIES])


def test_heads(served: Pair) -> None:
    """Read the headers and versions that HTTP clients send."""
    _check(served, list(HEADS))


def test_framing(served: Pair) -> None:
    """Read bodies of a known length and in chunks."""
    path = f"{BASE}?dryRun=All"
    body = json.dumps(_widget("b")).encode()
    chunks = b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (10, body[:10], len(body) - 10, body[10:])
    length, chunked = ("Content-Length", str(len(body))), ("Transfer-Encoding", "chunked")
    cases = [
        ([chunked], chunks),
        ([chunked], chunks[:-2] + b"X-A: b\r\n\r\n"),
        ([length], body),
        ([length, ("Content-Encoding", "gzip")], body),
        ([length, ("Expect", "100-continue")], body),
    ]

    _check(served, [Raw(str(headers), request("POST", path, [JSON, *headers]).data + data, "POST") for headers, data in cases])


def test_requests_no_body_that_is_not_read(served: Pair) -> None:
    """Send no `100 Continue` where no handler reads the body."""
    path, expects = "/unknown", ("Expect", "100-continue")

    _check(
        served, [request("POST", path, [JSON, expects, ("Content-Length", "5")]), request("POST", BASE, [("Content-Type", "x/y"), expects])]
    )


def test_limits(served: Pair) -> None:
    """Refuse bodies of more than 3 MiB with every verb, and read those of exactly 3 MiB."""
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
    """Answer media types with parameters, and malformed ones, as the reference does."""
    body = json.dumps(_widget("b")).encode()
    places = ("POST", f"{BASE}?dryRun=All", body), ("DELETE", f"{BASE}/missing", b"{}"), ("PUT", f"{BASE}/a?dryRun=All", body)

    _check(served, [request(method, path, [("Content-Type", kind)], data) for (method, path, data), kind in product(places, TYPES)])


def test_compresses_large_answers(served: Pair) -> None:
    """Compress answers of more than 128 KiB for clients that accept gzip."""
    names = _objects_around_threshold(served)
    accepted = ("gzip", "gzip, deflate", "br,gzip , x", "deflate", "*", "")
    headers = [[("Accept-Encoding", text)] for text in accepted]
    raws = [request("GET", f"{BASE}/{name}", header, body_counts=False) for name, header in product(names, headers)]
    raws += [request("GET", BASE, header, body_counts=False) for header in headers]
    raws += [request("HEAD", f"{BASE}/above", headers[0])]

    try:
        _check(served, raws)
    finally:
        for side, name in product((served.reference, served.ours), names):
            side.raw(Step("DELETE", f"{BASE}/{name}"))


def _objects_around_threshold(pair: Pair) -> tuple[str, str]:
    """Create two objects on each side: one of the largest size that is not compressed, and one of a byte more."""
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
