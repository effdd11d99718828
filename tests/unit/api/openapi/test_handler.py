"""OpenAPI over HTTP."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from aiohttp import web

from apiext.api.endpoints.request import USER
from apiext.api.openapi import v3_protobuf
from apiext.api.openapi.handler import OpenAPIHandler, Source
from apiext.base.meta.builtin_resources import BUILTINS
from apiext.base.meta.host_annotations import HOST_UID
from apiext.base.meta.request import UserInfo
from apiext.resources.definitions.catalog import Catalog
from tests.support.builders.crds import catalog, definition, stored_crd
from tests.support.servers.handler_server import Client, client_of

PATH: Final = "/openapi/v3/apis/example.com/v1"
PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.fixture
def known() -> Catalog:
    """Return a catalog with one definition."""
    return catalog(stored_crd())


@pytest.fixture
async def client(known: Catalog) -> AsyncIterator[Client]:
    """Yield a client of OpenAPI for that catalog."""
    async with client_of(OpenAPIHandler(known, BUILTINS)) as opened:
        yield opened


async def _index(client: Client) -> dict[str, str]:
    async with client.get("/openapi/v3") as response:
        paths = (await response.json(content_type=None))["paths"]
    return {path: entry["serverRelativeURL"] for path, entry in paths.items()}


async def test_index_links_immutable_documents(client: Client) -> None:
    """Return an immutable document at each URL of the index."""
    index = await _index(client)

    own = [
        "api",
        "api/v1",
        "apis",
        *(f"apis/admissionregistration.k8s.io{version}" for version in ("", "/v1")),
        "apis/apiextensions.k8s.io",
        "apis/apiextensions.k8s.io/v1",
    ]
    flows = ["apis/flowcontrol.apiserver.k8s.io", "apis/flowcontrol.apiserver.k8s.io/v1"]
    migration = ["apis/storagemigration.k8s.io", "apis/storagemigration.k8s.io/v1"]
    rbac = ["apis/rbac.authorization.k8s.io", "apis/rbac.authorization.k8s.io/v1"]
    more = [f"apis/{group}.k8s.io{version}" for group in ("coordination", "events") for version in ("", "/v1")]
    assert list(index) == [*own, *more, "apis/example.com/v1", *flows, *rbac, *migration, "version"]
    for url in index.values():
        async with client.get(url) as response:
            document: dict[str, Any] = await response.json()
        assert response.headers["Cache-Control"] == "public, immutable"
        assert response.headers["ETag"] == f'"{url.partition("=")[2]}"'
        assert document["openapi"] == "3.0.0"


async def test_redirects_an_outdated_hash(client: Client) -> None:
    """Redirect a URL with another hash to the current one."""
    index = await _index(client)

    async with client.get(f"{PATH}?hash=OLD", allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (301, index["apis/example.com/v1"])
        assert response.headers["Content-Type"] == "application/json"


async def test_serves_an_outdated_hash_to_the_aggregator(client: Client) -> None:
    """Return the current document, not immutable, for a request that kube-aggregator proxies."""
    async with client.get(f"{PATH}?hash=OLD", headers={"X-Forwarded-Uri": PATH}, allow_redirects=False) as response:
        assert (response.status, (await response.json())["openapi"]) == (200, "3.0.0")
        assert "Cache-Control" not in response.headers


async def test_index_of_the_aggregator() -> None:
    """Omit documents that the host has too from kube-aggregator's index only."""
    copy = stored_crd("others", group="b.example.com", kind="Other")
    copy["metadata"]["annotations"] = {HOST_UID: "7"}
    mixed = stored_crd("others", group="example.com", kind="Other")
    mixed["metadata"]["annotations"] = {HOST_UID: "8"}
    handler = OpenAPIHandler(catalog(stored_crd(), copy, mixed), BUILTINS)
    name = ""

    async def asked(request: web.BaseRequest) -> web.StreamResponse:
        request[USER] = UserInfo(name)
        return await handler(request)

    async with client_of(asked) as client:
        everything = await _index(client)
        name = "system:aggregator"
        index = await _index(client)

    assert {"apis/b.example.com/v1", "apis/apiextensions.k8s.io/v1"} < set(everything)
    assert index == {"apis/example.com/v1": everything["apis/example.com/v1"]}


async def test_returns_304_for_a_known_etag(client: Client) -> None:
    """Return 304 for If-None-Match with the document's ETag."""
    async with client.get(PATH) as first:
        etag = first.headers["ETag"]
    async with client.get(PATH, headers={"If-None-Match": etag}) as second:
        assert (second.status, await second.read(), second.headers["Vary"]) == (304, b"", "Accept")


async def test_compresses_v2_only(client: Client) -> None:
    """Compress v2 but not v3, as upstream."""
    async with client.get("/openapi/v2", headers={"Accept-Encoding": "gzip"}) as response:
        data = await response.read()
    async with client.get(PATH, headers={"Accept-Encoding": "gzip"}) as plain:
        assert "paths" in await plain.json()

    assert (response.headers["Content-Encoding"], response.headers["Vary"]) == ("gzip", "Accept-Encoding, Accept")
    assert "Content-Encoding" not in plain.headers
    assert "paths" in json.loads(gzip.decompress(data))


@pytest.mark.parametrize("accept", ["application/json;sv=v1;as=x", "*/json", "*", "application/*", "text/html, application/json"])
async def test_ignores_parameters_of_accept(client: Client, accept: str) -> None:
    """Accept a wildcard in either half of a type, and ignore parameters."""
    async with client.get(PATH, headers={"Accept": accept}) as response:
        assert response.status == 200


@pytest.mark.parametrize("accept", [",", ";", "json"])
async def test_accept_without_clauses(client: Client, accept: str) -> None:
    """Return an empty 200 for v3, as upstream, and 406 for v2."""
    async with client.get(PATH, headers={"Accept": accept}) as response:
        assert (response.status, await response.read()) == (200, b"")
    async with client.get("/openapi/v2", headers={"Accept": accept}) as response:
        assert response.status == 406


async def test_v2_is_json_or_protobuf(client: Client) -> None:
    """Return v2 in JSON, and in Protobuf by either of its media types."""
    async with client.get("/openapi/v2") as plain:
        document = await plain.json()
    async with client.get("/openapi/v2", headers={"Accept": PROTOBUF}) as encoded:
        data = await encoded.read()

    assert document["swagger"] == "2.0"
    assert encoded.headers["Content-Type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert data.startswith(b"\x0a\x032.0")
    assert plain.headers["ETag"] == encoded.headers["ETag"]


@pytest.mark.parametrize("sign", [".", "@"])
async def test_v3_protobuf(client: Client, sign: str) -> None:
    """Return v3 in Protobuf with the ETag of the source."""
    accept = f"application/com.github.proto-openapi.spec.v3{sign}v1.0+protobuf"
    async with client.get(PATH) as plain:
        document = await plain.json()
    async with client.get(PATH, headers={"Accept": accept}) as encoded:
        data = await encoded.read()

    assert encoded.headers["Content-Type"] == "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    assert encoded.headers["ETag"] == plain.headers["ETag"]
    assert data == v3_protobuf.encode(document)


@pytest.mark.parametrize("path", ["/openapi/v2", PATH])
async def test_rejects_other_media_types(client: Client, path: str) -> None:
    """Return 406 without a body."""
    async with client.get(path, headers={"Accept": "text/plain"}) as response:
        assert (response.status, await response.read()) == (406, b"")


@pytest.mark.parametrize("path, body", [("/openapi/v3/apis/nowhere/v1", ""), ("/openapi", "404 page not found\n")])
async def test_rejects_unknown_paths(client: Client, path: str, body: str) -> None:
    """Return 404 for a version that is not served."""
    async with client.get(path) as response:
        assert (response.status, await response.text()) == (404, body)


async def test_reflects_the_catalog(client: Client, known: Catalog) -> None:
    """Change the hash with a definition, and return 404 for a removed one."""
    before = await _index(client)
    async with client.get(PATH) as response:
        first = await response.json()
    known.put(definition(stored_crd(generation=2, scope="Cluster"), revision=2))
    after = await _index(client)
    async with client.get(PATH) as response:
        second = await response.json()
    known.remove("widgets.example.com", 3)
    async with client.get(PATH) as response:
        gone = response.status

    assert before["apis/example.com/v1"] != after["apis/example.com/v1"]
    assert before["api/v1"] == after["api/v1"]
    assert first != second
    assert gone == 404


async def test_builds_a_document_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Share one document between concurrent and later requests."""
    made: list[str] = []
    make = Source.v3

    def counted(source: Source, version: str) -> dict[str, Any]:
        made.append(source.hash)
        return make(source, version)

    monkeypatch.setattr(Source, "v3", counted)

    async def get() -> int:
        async with client.get(PATH) as response:
            await response.read()
            return response.status

    statuses = await asyncio.gather(*(get() for _ in range(5)))
    await get()

    assert statuses == [200] * 5
    assert len(made) == 1


async def test_does_not_cache_failures(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build a document again after a failure."""
    make = Source.v3
    failures = [ValueError("no")]

    def fails_once(source: Source, version: str) -> dict[str, Any]:
        if failures:
            raise failures.pop()
        return make(source, version)

    monkeypatch.setattr(Source, "v3", fails_once)
    statuses = []
    for _ in range(2):
        async with client.get(PATH) as response:
            statuses.append(response.status)

    assert statuses == [500, 200]
