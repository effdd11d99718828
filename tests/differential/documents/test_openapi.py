"""Tests of OpenAPI: the documents of definitions and of built-in types, media types and conditional requests."""

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import pytest

from apiext.api.openapi import v2_protobuf, v3_protobuf
from hack.lib.differential.pair import Pair, Side, Step
from tests.differential.helpers.documents import assert_equal_eventually, definitions, differing, parsed, until_both
from tests.differential.helpers.protobuf_messages import entries, equivalent
from tests.support.clients.published import with_shared_parameters, without_texts

pytestmark = pytest.mark.slow

GROUP: Final = "openapi.example.com"
MODELS: Final = "com.example.openapi."
DOCUMENT: Final = f"/openapi/v3/apis/{GROUP}/v1beta1"
VERSIONS: Final = ("v1", "v11", "v1beta1", "v1alpha1", "v2alpha1", "v3beta2", "v12alpha10", "foo")
BUILTIN: Final = (
    "version",
    "api",
    "apis",
    "apis/apiextensions.k8s.io",
    "apis/apiextensions.k8s.io/v1",
    "apis/authentication.k8s.io",
    "apis/authentication.k8s.io/v1",
    "apis/authorization.k8s.io",
    "apis/authorization.k8s.io/v1",
    "apis/coordination.k8s.io",
    "apis/coordination.k8s.io/v1",
    "apis/events.k8s.io",
    "apis/events.k8s.io/v1",
    "apis/rbac.authorization.k8s.io",
    "apis/rbac.authorization.k8s.io/v1",
    "apis/storagemigration.k8s.io",
    "apis/storagemigration.k8s.io/v1",
    "api/v1",
)
KINDS: Final = "x-kubernetes-group-version-kind"
OWN: Final = ("", "apiextensions.k8s.io", GROUP)
SPEC3: Final = "application/com.github.proto-openapi.spec.v3"
SPEC2: Final = "application/com.github.proto-openapi.spec.v2"
ACCEPTED: Final = (
    "",
    "*/*",
    "*",
    "application/json",
    "application/*",
    "*/json",
    "application/yaml",
    "text/html",
    "application/vnd.kubernetes.protobuf",
    f"{SPEC2}@v1.0+protobuf",
    f"{SPEC2}.v1.0+protobuf",
    f"application/json;q=0.5,{SPEC2}.v1.0+protobuf",
    f"{SPEC3}@v1.0+protobuf",
    f"{SPEC3}.v1.0+protobuf",
    "text/html, application/json;q=0.1",
    "application/json;sv=v1",
    "application/json;as=x;g=y;v=z;stream=other",
    ",",
    ";",
    "json",
)
LONG_AGO: Final = "Mon, 01 Jan 2024 00:00:00 GMT"
LATER: Final = "Mon, 01 Jan 2035 00:00:00 GMT"
CONDITIONS: Final[tuple[Mapping[str, str], ...]] = (
    {"If-None-Match": "*"},
    {"If-None-Match": '"x"'},
    {"If-None-Match": "ETAG"},
    {"If-None-Match": "W/ETAG"},
    {"If-None-Match": '"x"', "If-Modified-Since": LATER},
    {"If-Modified-Since": LATER},
    {"If-Modified-Since": LONG_AGO},
    {"If-Modified-Since": "junk"},
    {"Accept-Encoding": "gzip"},
    {"Accept-Encoding": "gzip;q=0"},
    {"Accept-Encoding": "gzip", "If-None-Match": "ETAG"},
)
_HEADERS: Final = ("Content-Type", "Content-Encoding", "Cache-Control", "X-Content-Type-Options")


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create all definitions on both servers, and wait until both publish every version."""
    with pair.served(*definitions(GROUP)):
        until_both(pair, _publishes_all)
        yield pair


def _publishes_all(side: Side) -> bool:
    wanted = {f"{MODELS}v1.Everything", f"{MODELS}v1beta1.Gadget", f"{MODELS}v3beta2.Hidden", f"{MODELS}v12alpha10.Gadget"}
    index = parsed(side, "/openapi/v3")["paths"]
    return all(f"apis/{GROUP}/{version}" in index for version in VERSIONS) and wanted <= set(parsed(side, "/openapi/v2")["definitions"])


def _plain(node: Any) -> Any:
    """Return a document without descriptions, and with the groups of both servers only in shared kinds."""
    if isinstance(node, dict):
        return {
            key: [kind for kind in member if kind["group"] in OWN] if key == KINDS and isinstance(member, list) else _plain(member)
            for key, member in without_texts(node).items()
        }
    return [_plain(member) for member in node] if isinstance(node, list) else node


def _v3(side: Side, path: str) -> Any:
    return _plain(parsed(side, f"/openapi/v3/{path}"))


@pytest.mark.parametrize("version", VERSIONS)
def test_v3(served: Pair, version: str) -> None:
    """Return equal paths, operations, parameters, schemas and extensions for definitions."""
    assert_equal_eventually(served, partial(_v3, path=f"apis/{GROUP}/{version}"))


@pytest.mark.parametrize("path", BUILTIN)
def test_builtin_v3(served: Pair, path: str) -> None:
    """Return equal documents of built-in kinds, discovery and the version as far as both servers have them."""
    ours = _v3(served.ours, path)

    def take(side: Side) -> Any:
        document = _v3(side, path)
        document["paths"] = {name: item for name, item in document["paths"].items() if name in ours["paths"]}
        schemas = document["components"]["schemas"]
        document["components"]["schemas"] = {name: schema for name, schema in schemas.items() if name in ours["components"]["schemas"]}
        return document

    assert_equal_eventually(served, take)
    if path != "api/v1":
        whole = _v3(served.reference, path)
        assert (whole["paths"].keys(), whole["components"]["schemas"].keys()) == (
            ours["paths"].keys(),
            ours["components"]["schemas"].keys(),
        )


def test_index(served: Pair) -> None:
    """List the documents of custom groups in the index, each with its ETag as hash in the URL."""
    ours = set(parsed(served.ours, "/openapi/v3")["paths"])
    theirs = set(parsed(served.reference, "/openapi/v3")["paths"])

    assert ours <= theirs
    assert {path for path in theirs if GROUP in path or path in BUILTIN} <= ours
    for side in (served.reference, served.ours):
        url = parsed(side, "/openapi/v3")["paths"][f"apis/{GROUP}/v1beta1"]["serverRelativeURL"]
        assert re.fullmatch(re.escape(DOCUMENT) + r"\?hash=[0-9A-F]{128}", url)
        response, _ = side.raw(Step("GET", url))
        assert response.headers["ETag"] == f'"{url.partition("=")[2]}"'
        assert response.headers["Cache-Control"] == "public, immutable"
        assert response.headers["Expires"].endswith(" UTC")


def test_v2_paths(served: Pair) -> None:
    """Return equal operations for all paths of custom resources, and of built-in ones that are not read-only here."""
    paths = [path for path in parsed(served.ours, "/openapi/v2")["paths"] if "flowcontrol" not in path]

    def take(side: Side) -> Any:
        document = parsed(side, "/openapi/v2")
        rest = {key: member for key, member in document.items() if key not in {"paths", "definitions", "parameters"}}
        known = [path for path in document["paths"] if GROUP in path or "apiextensions" in path]
        return rest, known, without_texts(with_shared_parameters(document, paths))

    assert_equal_eventually(served, take)


def test_v2_definitions(served: Pair) -> None:
    """Return equal definitions of custom resources, downgraded to v2."""
    names = set(parsed(served.ours, "/openapi/v2")["definitions"])

    def take(side: Side) -> Any:
        found = parsed(side, "/openapi/v2")["definitions"]
        return _plain({name: schema for name, schema in found.items() if name in names or name.startswith(MODELS)})

    assert_equal_eventually(served, take)


@pytest.mark.parametrize("path", [*(f"apis/{GROUP}/{version}" for version in VERSIONS), *BUILTIN[:-1]])
def test_v3_protobuf(served: Pair, path: str) -> None:
    """Encode the reference's JSON to the fields of the reference's Protobuf, with YAML texts of equal values; serve such Protobuf."""
    for side in (served.reference, served.ours):
        response, data = side.raw(Step("GET", f"/openapi/v3/{path}", headers={"Accept": f"{SPEC3}.v1.0+protobuf"}))
        assert response.headers["Content-Type"] == f"{SPEC3}.v1.0+protobuf"
        assert equivalent(data, v3_protobuf.encode(parsed(side, f"/openapi/v3/{path}")))


def test_v2_protobuf(served: Pair) -> None:
    """Encode v2 to equal fields in the shared definitions and paths."""
    for side in (served.reference, served.ours):
        data = side.raw(Step("GET", "/openapi/v2", headers={"Accept": f"{SPEC2}.v1.0+protobuf"}))[1]
        document = parsed(side, "/openapi/v2")
        paths = {path: item for path, item in document["paths"].items() if GROUP in path or "apiextensions" in path}
        encoded = v2_protobuf.encode({"paths": paths, "definitions": document["definitions"]})
        for numbers in ((8, 2), (9, 1)):
            theirs = entries(data, *numbers)
            different = [name for name, entry in entries(encoded, *numbers).items() if not equivalent(theirs[name], entry)]
            assert theirs
            assert not different


def _ask(side: Side, path: str, headers: Mapping[str, str], method: str = "GET") -> tuple[http.client.HTTPResponse, bytes]:
    """Send a request; ETAG in a header is replaced by the ETag of the server's document."""
    if any("ETAG" in text for text in headers.values()):
        etag = side.raw(Step("GET", path))[0].headers["ETag"] or '""'
        headers = {name: text.replace("ETAG", etag) for name, text in headers.items()}
    return side.raw(Step(method, path, headers=dict(headers)))


def _shape(side: Side, path: str, headers: Mapping[str, str], method: str = "GET") -> tuple[Any, ...]:
    """Return code and headers that do not depend on the length of a document, and the body of an error."""
    response, data = _ask(side, path, headers, method)
    found = {name: response.headers[name] or "" for name in _HEADERS}
    there = [name for name in ("ETag", "Last-Modified", "Expires") if response.headers[name]]
    vary = sorted(", ".join(response.headers.get_all("Vary") or []).split(", "))
    return response.status, found, there, vary, data if response.status >= 400 else b""


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", DOCUMENT, f"{DOCUMENT}?hash=OLD", "/openapi/v3/none", "/openapi/none"])
def test_accept(served: Pair, path: str) -> None:
    """Accept and refuse the same media types."""
    headers = {accept: {"Accept": accept} if accept else {} for accept in ACCEPTED}

    assert differing(served, {accept: partial(_shape, path=path, headers=sent) for accept, sent in headers.items()}) == {}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", DOCUMENT])
def test_conditions(served: Pair, path: str, method: str) -> None:
    """Answer conditional requests alike."""
    takes = {str(headers): partial(_shape, path=path, headers=headers, method=method) for headers in CONDITIONS}

    assert differing(served, takes) == {}


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "PATCH", "DELETE", "TRACE"])
def test_methods(served: Pair, method: str) -> None:
    """Answer every method with the document."""
    for path in ("/openapi/v2", "/openapi/v3", DOCUMENT, "/openapi/v3/none", "/openapi", "/openapi/v2/", "/openapi/v3/"):
        assert_equal_eventually(served, partial(_shape, path=path, headers={}, method=method), path)


def test_redirects_an_outdated_hash(served: Pair) -> None:
    """Redirect an outdated hash to the URL of the index."""
    for side in (served.reference, served.ours):
        response, data = side.raw(Step("GET", f"{DOCUMENT}?hash=OLD"))
        index = json.loads(side.raw(Step("GET", "/openapi/v3"))[1])["paths"]
        assert (response.status, data) == (301, b"")
        assert response.headers["Location"] == index[f"apis/{GROUP}/v1beta1"]["serverRelativeURL"]
