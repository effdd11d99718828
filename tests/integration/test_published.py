"""Tests that the documents published for real definitions equal the reference's, and that kubectl reads them.

One file: the reference with these definitions takes long to start.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.api.discovery.handler import DiscoveryHandler
from apiext.api.endpoints.responsewriters.status import status_reply
from apiext.api.openapi.handler import OpenAPIHandler
from apiext.base.meta.builtin_resources import BUILTINS
from apiext.base.meta.errors import StatusError
from apiext.resources.definitions.definition import Definition
from hack.lib.real_crds import NO_REAL, REAL, real_crds
from hack.lib.reference import binaries
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.support.builders.crds import catalog, definition
from tests.support.clients.client import CRDS, Client
from tests.support.clients.published import READ_ONLY, Published, every_feature, with_shared_parameters, without_texts, without_writes

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_GVK: Final = "x-kubernetes-group-version-kind"
_EVERYWHERE: Final = frozenset(f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}" for kind in ("DeleteOptions", "WatchEvent"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long("apiext/api/openapi", "apiext/schema"),
    pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL),
]


class Reference:
    """A client of the reference and the definitions that it created."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.definitions: list[Definition] = []

    def get(self, path: str, **headers: str) -> Any:
        """Send a GET that must succeed and return the parsed body."""
        with Client(self.plane) as client:
            return client.must("GET", path, headers=headers)

    def define(self, crds: list[dict[str, Any]]) -> None:
        """Create definitions and return when they are published."""
        for crd in crds:
            self.plane.client.must("POST", CRDS, crd)
        names = {crd["metadata"]["name"] for crd in crds}
        until(lambda: self._are_established(names), "all definitions")
        documents = Published(self.definitions).v3
        until(lambda: documents.keys() <= self.get("/openapi/v3")["paths"].keys(), "the paths of all documents")
        for path, document in documents.items():
            until(partial(self._has_all, path, document), f"the document of {path}")

    def _are_established(self, names: set[str]) -> bool:
        stored = [one for one in self.get(CRDS)["items"] if one["metadata"]["name"] in names]
        self.definitions = [definition({"apiVersion": "apiextensions.k8s.io/v1", **one}) for one in stored]
        return all(one.is_established for one in self.definitions)

    def _has_all(self, path: str, document: dict[str, Any]) -> bool:
        """Report whether the reference publishes all paths of a document, which it extends definition by definition."""
        return set(self.get(f"/openapi/v3/{path}")["paths"]) >= set(document["paths"])


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    """Start a separate reference with the real definitions and one that uses every feature.

    The shared control plane has no real definitions: deleting so many may take minutes.
    """
    with ControlPlane(tmp_path_factory.mktemp("published"), durable=False) as plane:
        client = Reference(plane)
        client.define([*real_crds(), every_feature()])
        yield client


@pytest.fixture(scope="module")
def published(reference: Reference) -> Published:
    """Return what apiext publishes for the definitions of the reference."""
    return Published(reference.definitions)


def _ours(published: Published) -> set[str]:
    return {group.name for group in published.groups}


def test_group_list(reference: Reference, published: Published) -> None:
    """List the groups at /apis in the reference's order."""
    theirs = [group for group in reference.get("/apis")["groups"] if group["name"] in _ours(published)]

    assert published.group_list()["groups"] == theirs


def test_groups(reference: Reference, published: Published) -> None:
    """Return equal documents at /apis/<group>."""
    listed = {group["name"]: group for group in published.group_list()["groups"]}

    for name, group in listed.items():
        assert {"kind": "APIGroup", "apiVersion": "v1", **group} == reference.get(f"/apis/{name}")


def test_resource_lists(reference: Reference, published: Published) -> None:
    """Return equal resources at /apis/<group>/<version>; the reference lists those of custom groups in no order."""
    for path, ours in published.resource_lists().items():
        theirs = reference.get(path)
        if READ_ONLY in path:
            theirs = without_writes(theirs)

        assert _sorted(ours) == _sorted(theirs)


def test_aggregated(reference: Reference, published: Published) -> None:
    """Return equal items in equal order in the aggregated document."""
    theirs = reference.get("/apis", Accept=AGGREGATED)
    items = [(item["metadata"]["name"], item) for item in theirs["items"]]
    theirs["items"] = [without_writes(item) if name == READ_ONLY else item for name, item in items if name in _ours(published)]

    assert published.aggregated() == theirs


def _sorted(resource_list: dict[str, Any]) -> dict[str, Any]:
    return {**resource_list, "resources": sorted(resource_list["resources"], key=lambda one: str(one["name"]))}


@pytest.fixture(scope="module")
def reference_v2(reference: Reference, published: Published) -> dict[str, Any]:
    """Return the v2 document of the reference after it has all definitions."""
    wanted = set(published.v2()["definitions"])
    document: dict[str, Any] = {}

    def is_there() -> bool:
        document.clear()
        document.update(reference.get("/openapi/v2"))
        return wanted <= set(document["definitions"])

    until(is_there, "the documents", patience=90)
    return document


def test_v3(reference: Reference, published: Published) -> None:
    """Return equal paths and schemas for each group and version; DeleteOptions of the reference lists more groups."""
    for path, ours in published.v3.items():
        theirs = reference.get(f"/openapi/v3/{path}")

        assert _comparable(ours) == _comparable(theirs), path


def test_v3_descriptions(reference: Reference, published: Published) -> None:
    """Publish the descriptions of fields word for word."""
    for path, ours in published.v3.items():
        theirs = reference.get(f"/openapi/v3/{path}")["components"]["schemas"]

        for name, schema in ours["components"]["schemas"].items():
            for field in ("spec", "status"):
                if not name.startswith("io.k8s.ap") and field in schema.get("properties", {}):
                    assert _own_texts(schema["properties"][field]) == _own_texts(theirs[name]["properties"][field])


def test_builtin_types(reference: Reference, published: Published) -> None:
    """Publish the reference's fields of built-in types."""
    for path, ours in published.builtin_v3.items():
        schemas = without_texts(ours["components"]["schemas"])
        theirs = without_texts(reference.get(f"/openapi/v3/{path}")["components"]["schemas"])

        for name, schema in schemas.items():
            assert _unnamed(name, schema) == _unnamed(name, theirs[name]), name


def test_v2_definitions(published: Published, reference_v2: dict[str, Any]) -> None:
    """Return equal definitions in v2."""
    for name, schema in without_texts(published.v2()["definitions"]).items():
        theirs = without_texts(reference_v2["definitions"][name])

        assert _unnamed(name, schema) == _unnamed(name, theirs), name


def test_v2_paths(published: Published, reference_v2: dict[str, Any]) -> None:
    """Return equal paths of custom resources in v2."""
    ours = published.v2()
    other = ("/apis/apiextensions.k8s.io/", f"/apis/{READ_ONLY}/v1/")
    paths = [path for path in ours["paths"] if path.startswith("/apis/") and not path.startswith(other)]

    assert without_texts(with_shared_parameters(ours, paths)) == without_texts(with_shared_parameters(reference_v2, paths))


def _comparable(document: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = without_texts(document)
    schemas = plain["components"]["schemas"]
    plain["components"]["schemas"] = {name: _unnamed(name, schema) for name, schema in schemas.items()}
    return plain


def _unnamed(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without its group-version-kinds if the reference has the schema in all of its groups."""
    return {key: member for key, member in schema.items() if key != _GVK or name not in _EVERYWHERE}


def _own_texts(schema: Any) -> Any:
    """Return a schema without apiext's own descriptions of embedded objects."""
    if isinstance(schema, dict) and schema.get("x-kubernetes-embedded-resource"):
        return "embedded"
    if isinstance(schema, dict):
        return {key: _own_texts(member) for key, member in schema.items()}
    return schema


class Kubectl:
    """kubectl against the reference and against a server with discovery and OpenAPI only."""

    def __init__(self, reference: Reference, server: str, folder: Path) -> None:
        self._program = binaries.binary("kubectl")
        self._reference = ["--kubeconfig", str(reference.plane.kubeconfig), "--cache-dir", str(folder / "reference")]
        self._ours = ["--kubeconfig", "/dev/null", "--server", server, "--cache-dir", str(folder / "ours")]

    async def both(self, *arguments: str) -> tuple[str, str]:
        """Return the output with apiext and the output with the reference."""
        ours, theirs = await asyncio.gather(self._run(*arguments, *self._ours), self._run(*arguments, *self._reference))
        return ours, theirs

    async def _run(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            self._program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await process.communicate()
        assert process.returncode == 0, output.decode()
        return output.decode()


@pytest.fixture
async def kubectl(reference: Reference, tmp_path: Path) -> AsyncIterator[Kubectl]:
    """Return kubectl with a server that publishes the definitions of the reference."""
    known = catalog(*(one.object for one in reference.definitions))
    discovery, openapi = DiscoveryHandler(known, BUILTINS), OpenAPIHandler(known, BUILTINS)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await (openapi if request.path.startswith("/openapi") else discovery)(request)
        except StatusError as error:
            return status_reply(request, error)

    async with RawTestServer(answer) as server:
        yield Kubectl(reference, str(server.make_url("/")), tmp_path)


@pytest.mark.parametrize("output", ["plaintext", "plaintext-openapiv2"])
@pytest.mark.parametrize("resource", ["gateways", "scaledobjects.keda.sh", "certificates.spec", "everythings", "crd.spec.names", "ns"])
async def test_explain_recursive(kubectl: Kubectl, resource: str, output: str) -> None:
    """Print the reference's tree of fields with `explain --recursive`, by OpenAPI v3 and by v2."""
    ours, theirs = await kubectl.both("explain", resource, "--recursive", "--output", output)

    assert _fields(ours) == _fields(theirs)


async def test_explain_descriptions(kubectl: Kubectl) -> None:
    """Print the descriptions of a definition word for word."""
    ours, theirs = await kubectl.both("explain", "gateways.spec.listeners.tls")

    assert ours == theirs


@pytest.mark.parametrize("verb", ["list", "delete", "patch"])
async def test_api_resources(kubectl: Kubectl, verb: str) -> None:
    """Print the lines of the reference with `api-resources`."""
    ours, theirs = await kubectl.both("api-resources", "--output", "wide", "--verbs", verb, "--no-headers")

    assert _resources(ours) <= _resources(theirs)


async def test_api_versions(kubectl: Kubectl) -> None:
    """Print all versions with `api-versions`."""
    ours, theirs = await kubectl.both("api-versions")

    assert set(ours.split()) <= set(theirs.split())
    assert {"v1", "gateway.networking.k8s.io/v1", "published.example.com/v1alpha1"} <= set(ours.split())


def _resources(output: str) -> set[str]:
    """Return the lines of resources; those of the read-only group without their verbs and what follows."""
    lines = (line.split() for line in output.splitlines())
    return {" ".join(words[:-1] if any(word.startswith(READ_ONLY) for word in words) else words) for words in lines}


def _fields(output: str) -> list[str]:
    """Return the lines of the tree of fields."""
    _, _, tree = output.partition("FIELDS:")
    assert tree
    return tree.splitlines()
