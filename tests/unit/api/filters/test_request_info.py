"""RequestInfo: the table of the reference's own test, and edge cases."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from yarl import URL

from apiext.api.endpoints.request import INFO
from apiext.api.filters.request_info import RequestInfoError, WithRequestInfo, request_info
from apiext.base.meta.request import RequestInfo
from tests.unit.api.filters.conftest import Make, hello

CORE, EXTENSIONS = ("api", "", "v1"), ("apis", "extensions", "v3")

# as in apiserver pkg/endpoints/request/requestinfo_test.go:
# method, url, verb; prefix, group and version; namespace, resource, subresource, name, parts
RESOURCES = [
    ("GET", "/api/v1/namespaces", "list", *CORE, "", "namespaces", "", "", "namespaces"),
    ("GET", "/api/v1/namespaces/other", "get", *CORE, "other", "namespaces", "", "other", "namespaces/other"),
    ("GET", "/api/v1/namespaces/other/pods", "list", *CORE, "other", "pods", "", "", "pods"),
    ("GET", "/api/v1/namespaces/other/pods/foo", "get", *CORE, "other", "pods", "", "foo", "pods/foo"),
    ("HEAD", "/api/v1/namespaces/other/pods/foo", "get", *CORE, "other", "pods", "", "foo", "pods/foo"),
    ("GET", "/api/v1/pods", "list", *CORE, "", "pods", "", "", "pods"),
    ("HEAD", "/api/v1/pods", "list", *CORE, "", "pods", "", "", "pods"),
    ("GET", "/api/v1/proxy/namespaces/other/pods/foo", "proxy", *CORE, "other", "pods", "", "foo", "pods/foo"),
    ("GET", "/api/v1/proxy/pods/foo/subpath/x", "proxy", *CORE, "", "pods", "", "foo", "pods/foo/subpath/x"),
    ("GET", "/api/v1/watch/pods", "watch", *CORE, "", "pods", "", "", "pods"),
    ("GET", "/api/v1/pods?watch=true", "watch", *CORE, "", "pods", "", "", "pods"),
    ("GET", "/api/v1/pods?watch=false", "list", *CORE, "", "pods", "", "", "pods"),
    ("GET", "/api/v1/watch/namespaces/other/pods", "watch", *CORE, "other", "pods", "", "", "pods"),
    ("GET", "/api/v1/namespaces/other/pods?watch=1", "watch", *CORE, "other", "pods", "", "", "pods"),
    ("GET", "/api/v1/namespaces/other/pods?watch=0", "list", *CORE, "other", "pods", "", "", "pods"),
    ("GET", "/api/v1/namespaces/other/pods/foo/status", "get", *CORE, "other", "pods", "status", "foo", "pods/foo/status"),
    ("PUT", "/api/v1/namespaces/other/finalize", "update", *CORE, "other", "namespaces", "finalize", "other", "namespaces/other/finalize"),
    ("PUT", "/api/v1/namespaces/other/status", "update", *CORE, "other", "namespaces", "status", "other", "namespaces/other/status"),
    ("PATCH", "/api/v1/namespaces/other/pods/foo", "patch", *CORE, "other", "pods", "", "foo", "pods/foo"),
    ("DELETE", "/api/v1/namespaces/other/pods/foo", "delete", *CORE, "other", "pods", "", "foo", "pods/foo"),
    ("POST", "/api/v1/namespaces/other/pods", "create", *CORE, "other", "pods", "", "", "pods"),
    ("DELETE", "/api/v1/nodes", "deletecollection", *CORE, "", "nodes", "", "", "nodes"),
    ("DELETE", "/api/v1/namespaces", "deletecollection", *CORE, "", "namespaces", "", "", "namespaces"),
    ("DELETE", "/api/v1/namespaces/other/pods", "deletecollection", *CORE, "other", "pods", "", "", "pods"),
    ("DELETE", "/apis/extensions/v3/namespaces/other/pods", "deletecollection", *EXTENSIONS, "other", "pods", "", "", "pods"),
    ("OPTIONS", "/apis/extensions/v3/pods", "", *EXTENSIONS, "", "pods", "", "", "pods"),
]


@pytest.mark.parametrize("row", RESOURCES, ids=lambda row: f"{row[0]} {row[1]}")
def test_resource_paths(row: tuple[str, ...]) -> None:
    """Parse a path below a version as the reference does."""
    method, url, *expected = row

    info = request_info(make_mocked_request(method, url))

    assert info.is_resource
    found = [info.verb, info.api_prefix, info.group, info.version, info.namespace, info.resource, info.subresource, info.name]
    assert [*found, "/".join(info.parts)] == expected


@pytest.mark.parametrize(
    "path", ["/", "/api", "/apis", "/api/v1", "/apis/example.com", "/apis/example.com/v1", "/healthz/ping", "/version", "/apis/a/b/"]
)
def test_other_paths(path: str) -> None:
    """Return the HTTP method and the path for paths without a resource."""
    info = request_info(make_mocked_request("GET", path))

    assert (info.is_resource, info.verb, info.path) == (False, "get", path)


@pytest.mark.parametrize("path", ["/api/v1/watch", "/apis/g/v1/proxy", "/api/v1/watch/"])
def test_rejects_a_special_verb_without_a_resource(path: str) -> None:
    """Reject a special verb without a resource."""
    with pytest.raises(RequestInfoError, match=f"unable to determine kind and namespace from url, {path}"):
        request_info(make_mocked_request("GET", path))


@pytest.mark.parametrize(
    "query, name",
    [
        ("fieldSelector=metadata.name%3Dfoo", "foo"),
        ("fieldSelector=metadata.name==foo,metadata.namespace==x&watch=true", "foo"),
        ("fieldSelector=metadata.name!%3Dfoo", ""),
        ("fieldSelector=metadata.name%3D.", ""),
        ("fieldSelector=metadata.name%3D==", ""),
        ("fieldSelector=metadata.name", ""),
        ("labelSelector=a", ""),
    ],
)
def test_takes_the_name_from_a_selector(query: str, name: str) -> None:
    """Use the name of a field selector as the name of a list, if it is valid."""
    assert request_info(make_mocked_request("GET", f"/api/v1/namespaces/other/pods?{query}")).name == name


def test_reads_selectors() -> None:
    """Read selectors of list, watch and deletecollection, but not with a verb in the path."""
    query = "fieldSelector=a%3Db&labelSelector=c"

    listed = request_info(make_mocked_request("GET", f"/api/v1/pods?{query}"))
    named = request_info(make_mocked_request("GET", f"/api/v1/pods/x?{query}"))
    special = request_info(make_mocked_request("GET", f"/api/v1/watch/pods?{query}"))

    assert (listed.field_selector, listed.label_selector) == ("a=b", "c")
    assert {(info.field_selector, info.label_selector) for info in (named, special)} == {("", "")}


def test_recognizes_long_running_requests() -> None:
    """Recognize watches, some subresources of pods and the events of the version map as long-running."""
    paths = {"/api/v1/pods?watch=1": True, "/api/v1/watch/pods": True, "/api/v1/pods": False, "/api/v1/namespaces/n/pods/p/log": True}
    paths |= {"/apiext/versions/events": True, "/apiext/versions": False, "/apiext/versions/data": False}

    assert {path: request_info(make_mocked_request("GET", path)).long_running for path in paths} == paths


async def test_caches_request_infos(exchange: Make) -> None:
    """Share the RequestInfo of a path, for reads of a path with its query; parse other methods apart."""
    seen: list[RequestInfo] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request[INFO])
        return await hello(request)

    chain = WithRequestInfo(handler)
    reads = (("GET", "/api/v1/pods"), ("GET", "/api/v1/pods"), ("DELETE", "/api/v1/pods"), ("GET", "/api/v1/pods?watch=1"))
    selecting = (("GET", "/api/v1/pods?labelSelector=a"), ("GET", "/api/v1/pods?labelSelector=a"), ("GET", "/api/v1/pods?labelSelector=b"))
    writes = (("PATCH", "/api/v1/pods/a?fieldManager=x"), ("PATCH", "/api/v1/pods/a"), ("PUT", "/api/v1/pods/a?fieldManager=x"))
    for method, path in reads + writes + selecting:
        await exchange(path, method=method).through(chain)

    assert seen[0] is seen[1]
    assert seen[4] is seen[5]
    assert [info.verb for info in seen[:7]] == ["list", "list", "deletecollection", "watch", "patch", "patch", "update"]
    assert seen[7] is seen[8]
    assert [info.label_selector for info in seen[7:]] == ["a", "a", "b"]


async def test_bounds_the_cache(exchange: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the latest paths, and paths with a query, and forget earlier ones."""
    monkeypatch.setattr("apiext.api.filters.request_info.CACHED_PATHS", 3)
    monkeypatch.setattr("apiext.api.filters.request_info.CACHED_QUERIES", 2)
    seen: dict[str, list[RequestInfo]] = {}

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.setdefault(request.path_qs, []).append(request[INFO])
        return await hello(request)

    chain = WithRequestInfo(handler)
    for number in (*range(10), 9, 0):
        await exchange(f"/api/v1/pods/{number}").through(chain)
        await exchange(f"/api/v1/pods?limit={number}").through(chain)

    for path in ("/api/v1/pods/", "/api/v1/pods?limit="):
        assert seen[f"{path}9"][0] is seen[f"{path}9"][1]
        assert seen[f"{path}0"][0] is not seen[f"{path}0"][1]


async def test_returns_500_for_unparsable_paths(exchange: Make) -> None:
    """Return the reference's 500 for a path without a RequestInfo."""
    done = exchange("/healthz")
    done.request = make_mocked_request("GET", "/api/v1/watch?a=1&b=2", writer=done.wire)

    await done.through(WithRequestInfo(hello))

    assert done.status == 500
    expected = 'Internal Server Error: "/api/v1/watch?a=1&amp;b=2": failed to create RequestInfo: '
    assert done.body.decode() == f"{expected}unable to determine kind and namespace from url, /api/v1/watch?a=1&amp;b=2\n"


@pytest.mark.parametrize(
    "path,name",
    [
        ("%e4%bf", "\ufffd\ufffd"),
        ("a\udcff", "a\ufffd"),
        ("%ff%25", "\ufffd%"),
        ("%e4%b8%ad", "\u4e2d"),
        ("%25ff", "%ff"),
        ("\u4e2d", "\u4e2d"),
    ],
)
def test_replaces_invalid_utf8_in_paths(path: str, name: str) -> None:
    """Replace each byte of a path that is not UTF-8."""
    url = URL.build(path=f"/api/v1/namespaces/{path}", encoded=True)
    request = make_mocked_request("GET", "/")
    request._rel_url = url  # noqa: SLF001 -- aiohttp's, which makes no such request from a path

    assert request_info(request).name == name
