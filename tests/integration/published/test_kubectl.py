"""Tests that the real kubectl reads the published documents."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.discovery.handler import DiscoveryHandler
from apiext.endpoints.responsewriters.status import status_reply
from apiext.meta.builtin_resources import BUILTINS
from apiext.meta.errors import StatusError
from apiext.openapi.handler import OpenAPIHandler
from hack.lib.real_crds import NO_REAL, REAL
from hack.lib.reference import binaries
from tests.integration.published.conftest import Reference
from tests.support.builders.crds import catalog
from tests.support.clients.published import READ_ONLY

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)]


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
