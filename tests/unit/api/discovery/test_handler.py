"""Discovery over HTTP."""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import yaml

from apiext.api.discovery import protobuf_messages
from apiext.api.discovery.handler import DiscoveryHandler
from apiext.api.discovery.protobuf_messages import MESSAGES
from apiext.base.meta.builtin_resources import BUILTINS
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.registry.protobuf import kinds
from tests.support.builders.crds import catalog, definition, stored_crd, version
from tests.support.servers.handler_server import Client, client_of

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
FLOWS: Final = "flowcontrol.apiserver.k8s.io"
BUILTIN: Final = (
    "events.k8s.io",
    "rbac.authorization.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
    FLOWS,
    "storagemigration.k8s.io",
)
AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.fixture
def known() -> Catalog:
    """Return a catalog with one definition."""
    names = {"shortNames": ["wd"], "categories": ["all"]}
    return catalog(stored_crd(names=names, versions=[version("v1", storage=True, subresources={"status": {}}), version("v1beta1")]))


@pytest.fixture
async def client(known: Catalog) -> AsyncIterator[Client]:
    """Yield a client of discovery for that catalog."""
    async with client_of(DiscoveryHandler(known, BUILTINS)) as opened:
        yield opened


async def _json(client: Client, path: str, **headers: str) -> Any:
    async with client.get(path, headers=headers) as response:
        assert response.status == 200
        return await response.json(content_type=None)


async def test_api_lists_versions_and_the_address(client: Client) -> None:
    """Return the core version, and the address of the connection, at /api."""
    assert await _json(client, "/api") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": f"127.0.0.1:{client.port}"}],
    }


async def test_group_list_and_group_agree(client: Client) -> None:
    """Return all groups but the core group at /apis, and the same group at /apis/<group>."""
    groups = (await _json(client, "/apis"))["groups"]
    group = await _json(client, "/apis/example.com")

    assert [one["name"] for one in groups] == [*BUILTIN, "example.com"]
    assert group == {"kind": "APIGroup", "apiVersion": "v1", **groups[-1]}
    assert group["preferredVersion"] == {"groupVersion": "example.com/v1", "version": "v1"}


async def test_lists_resources_of_a_version(client: Client) -> None:
    """Return resources and subresources with the reference's fields."""
    listed = await _json(client, "/apis/example.com/v1/")

    assert listed == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "example.com/v1",
        "resources": [
            {
                "name": "widgets",
                "singularName": "widget",
                "namespaced": True,
                "kind": "Widget",
                "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
                "shortNames": ["wd"],
                "categories": ["all"],
                "storageVersionHash": "gIwvi5rymmg=",
            },
            {
                "name": "widgets/status",
                "singularName": "",
                "namespaced": True,
                "kind": "Widget",
                "verbs": ["get", "patch", "update"],
            },
        ],
    }


async def test_core_resources_have_no_api_version(client: Client) -> None:
    """Return no apiVersion at /api/v1, as upstream."""
    listed = await _json(client, "/api/v1")

    assert "apiVersion" not in listed
    assert [one["name"] for one in listed["resources"]] == [
        "configmaps",
        "events",
        "namespaces",
        "namespaces/finalize",
        "namespaces/status",
        "secrets",
        "serviceaccounts",
        "serviceaccounts/token",
    ]


async def test_aggregated_discovery_has_an_etag(client: Client) -> None:
    """Return 304 for the ETag of the aggregated document."""
    async with client.get("/apis", headers={"Accept": AGGREGATED}) as first:
        etag = first.headers["ETag"]
        document = await first.json(content_type=None)
    async with client.get("/apis", headers={"Accept": AGGREGATED, "If-None-Match": etag}) as second:
        known = second.status, await second.read()

    assert known == (304, b"")
    assert (first.headers["Vary"], first.headers["Cache-Control"]) == ("Accept", "public")
    assert first.headers["Content-Type"] == AGGREGATED
    assert [item["metadata"]["name"] for item in document["items"]] == [
        *BUILTIN,
        "example.com",
    ]
    assert [one["freshness"] for one in document["items"][-1]["versions"]] == ["Current", "Current"]


async def test_api_aggregates_the_core_group(client: Client) -> None:
    """Return one item without a name at /api."""
    document = await _json(client, "/api", Accept=f"{AGGREGATED},application/json")

    (item,) = document["items"]
    assert item["metadata"] == {}


@pytest.mark.parametrize("version", ["v2beta1", "v3"])
async def test_unknown_aggregated_versions_fall_back(client: Client, version: str) -> None:
    """Return the plain document for an unknown aggregated version, if the client accepts it."""
    accept = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList,application/json"

    assert (await _json(client, "/apis", Accept=accept))["kind"] == "APIGroupList"


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis", "/apis/example.com", "/apis/example.com/v1"])
async def test_protobuf(client: Client, path: str) -> None:
    """Return every document in Protobuf with the content of the JSON one."""
    plain = await _json(client, path)
    async with client.get(path, headers={"Accept": PROTOBUF}) as response:
        body = await response.read()

    assert (response.status, response.headers["Content-Type"]) == (200, PROTOBUF)
    read = kinds.read(body, MESSAGES[plain["kind"]])
    assert (read["kind"], read["apiVersion"]) == (plain["kind"], plain.get("apiVersion", ""))
    assert body == protobuf_messages.dumps(plain)


async def test_aggregated_protobuf(client: Client) -> None:
    """Return the aggregated document in Protobuf with the ETag of the JSON one."""
    params = AGGREGATED.removeprefix("application/json")
    async with client.get("/apis", headers={"Accept": AGGREGATED}) as response:
        plain, etag = await response.json(content_type=None), response.headers["ETag"]
    async with client.get("/apis", headers={"Accept": PROTOBUF + params}) as response:
        body = await response.read()

    assert response.headers["ETag"] == etag
    assert response.headers["Content-Type"].startswith(PROTOBUF)
    items = kinds.read(body, MESSAGES["APIGroupDiscoveryList"])["items"]
    assert [group["metadata"]["name"] for group in items] == [group["metadata"]["name"] for group in plain["items"]]


async def test_apis_with_a_slash_is_not_aggregated(client: Client) -> None:
    """Aggregate /api/ and /apis, but not /apis/, as upstream."""
    codes = {}
    for path in ("/api/", "/apis", "/apis/"):
        async with client.get(path, headers={"Accept": AGGREGATED}) as response:
            codes[path] = response.status

    assert codes == {"/api/": 200, "/apis": 200, "/apis/": 406}


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis/apiextensions.k8s.io/v1"])
@pytest.mark.parametrize("accept", ["application/*", "*", "application/cbor", "application/json/x"])
async def test_builtin_groups_reject_wildcards(client: Client, path: str, accept: str) -> None:
    """Return 406 with the router's message for any wildcard but `*/*`."""
    async with client.get(path, headers={"Accept": accept}) as response:
        message = (await response.json())["message"]

    types = f"application/json, application/yaml, {PROTOBUF}"
    assert (response.status, message) == (406, f"406: Not Acceptable\n\nAvailable representations: {types}")


@pytest.mark.parametrize(
    "path, accept", [("/apis", "application/json;sv=v1"), ("/apis/example.com", AGGREGATED)], ids=["sv", "aggregated group"]
)
async def test_rejects_parameters(client: Client, path: str, accept: str) -> None:
    """Return 406 for the parameter sv, and for the aggregated form of a group."""
    async with client.get(path, headers={"Accept": accept}) as response:
        assert response.status == 406


@pytest.mark.parametrize("accept", ["text/plain", AGGREGATED.replace("v2", "v2beta1")])
async def test_rejects_other_media_types(client: Client, accept: str) -> None:
    """Return 406 with the accepted media types."""
    async with client.get("/apis", headers={"Accept": accept}) as response:
        status = await response.json(content_type=None)

    assert status["code"] == 406
    assert status["message"].startswith("only the following media types are accepted: application/json")


async def test_yaml(client: Client) -> None:
    """Return a document in YAML."""
    async with client.get("/apis/example.com", headers={"Accept": "application/yaml"}) as response:
        text = await response.text()

    assert response.headers["Content-Type"] == "application/yaml"
    assert yaml.safe_load(text)["name"] == "example.com"


async def test_pretty(client: Client) -> None:
    """Indent with ?pretty=1."""
    async with client.get("/apis/example.com?pretty=1") as response:
        assert (await response.text()).startswith('{\n  "kind": "APIGroup",\n')


async def test_remembers_answers_by_their_form(client: Client) -> None:
    """Answer a request like an earlier one in its own form: method, media type and indentation."""
    plain = await _json(client, "/apis/example.com")
    async with client.get("/apis/example.com", headers={"User-Agent": "curl/8"}) as response:
        indented = await response.text()
    async with client.get("/apis/example.com", headers={"Accept": "application/yaml"}) as response:
        text = await response.text()
    async with client.head("/apis/example.com") as response:
        length, body = response.headers["Content-Length"], await response.read()

    assert indented.startswith("{\n")
    assert yaml.safe_load(text) == plain == await _json(client, "/apis/example.com")
    assert (int(length) > 0, body) == (True, b"")


async def test_reflects_the_catalog(client: Client, known: Catalog) -> None:
    """Return a new definition with the next request."""
    before = await _json(client, "/apis")
    known.put(definition(stored_crd("gadgets", group="other.example.com", kind="Gadget")))
    after = await _json(client, "/apis")

    assert len(after["groups"]) == len(before["groups"]) + 1


@pytest.mark.parametrize("path", ["/apis/nowhere.com", "/apis/example.com/v9", "/apis/nowhere.com/v1", "/apis//"])
async def test_unknown_custom_paths_are_plain_404s(client: Client, path: str) -> None:
    """Return the text of Go's NotFound handler for an unknown group or version."""
    async with client.get(path) as response:
        assert (response.status, await response.text()) == (404, "404 page not found\n")


@pytest.mark.parametrize("path", ["/api/v2", "/apis/apiextensions.k8s.io/v9"])
async def test_unknown_builtin_versions_are_statuses(client: Client, path: str) -> None:
    """Return a Status for an unknown version of a built-in group."""
    async with client.get(path) as response:
        status = await response.json(content_type=None)

    assert (status["code"], status["message"]) == (404, "the server could not find the requested resource")


@pytest.mark.parametrize("path, code", [("/api", 405), ("/api/v1", 405), ("/apis/apiextensions.k8s.io/v1", 405), ("/apis", 200)])
async def test_rejects_methods(client: Client, path: str, code: int) -> None:
    """Return 405 for other methods in built-in groups only."""
    async with client.post(path) as response:
        assert response.status == code


async def test_without_builtins_there_is_no_core(known: Catalog) -> None:
    """Return 404 at /api without built-in resources."""
    async with client_of(DiscoveryHandler(known, ())) as opened, opened.get("/api") as response:
        assert response.status == 404
