"""Definitions and objects of a live cluster."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from aiohttp import web

from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.resources.definitions.definition import Definition
from apiext.tools.releases.cluster_connection import ClusterConnection
from apiext.tools.releases.cluster_source import ClusterSource
from apiext.tools.releases.interface import SourceError
from tests.support.builders.crds import crd, definition, version, widget, widgets_path
from tests.support.servers.handler_server import client_of
from tests.support.servers.in_process import CRDS, InProcess


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server with widgets in two versions."""
    async with InProcess() as running:
        await running.define(crd("widgets", version("v1beta1"), version("v1", storage=True)))
        yield running


@pytest.fixture
async def source(server: InProcess) -> AsyncIterator[ClusterSource]:
    """Yield the source of the server."""
    found = ClusterSource(_connection(server.url("")))
    yield found
    await found.close()


def _connection(url: str) -> ClusterConnection:
    return ClusterConnection("test", Endpoint(url=url, context=None))


async def _keys(source: ClusterSource, of: Definition) -> list[str]:
    async with aclosing(source.pages(of)) as pages:
        return [f"{found.key} {found.object['apiVersion']}" async for page in pages for found in page]


async def test_reads_definitions(source: ClusterSource) -> None:
    """Return definitions with their real status, all or the named ones that exist."""
    release = await source.release()

    assert (release.origin, release.is_live) == ("cluster test", True)
    assert release.definitions["widgets.example.com"].head["status"]["storedVersions"] == ["v1"]
    assert list((await source.release(["widgets.example.com", "missing.example.com"])).definitions) == ["widgets.example.com"]


async def test_reads_definitions_of_groups(server: InProcess, source: ClusterSource) -> None:
    """Return the named definitions, and those of whole groups."""
    for plural, kind, group in (("gears", "Gear", "example.com"), ("gears", "Gear", "sub.example.com"), ("cogs", "Cog", "other.org")):
        await server.define(crd(plural, kind=kind, group=group))

    release = await source.release(["cogs.other.org"], groups={"example.com"})

    assert list(release.definitions) == ["cogs.other.org", "gears.example.com", "widgets.example.com"]


async def test_reads_objects_page_by_page(server: InProcess, source: ClusterSource) -> None:
    """Return all objects in the storage version with managedFields, in the order of their keys."""
    names = [f"w{index:03}" for index in range(130)]
    for name in names:
        assert (await server.ask("POST", widgets_path(), widget(name))).status == 201
    of = definition(crd())

    assert await source.count(of) == 130
    assert await _keys(source, of) == [f"default/{name} example.com/v1" for name in names]
    async with aclosing(source.pages(of)) as pages:
        first = await anext(pages)
    assert len(first) == 100
    assert first[0].object["metadata"]["managedFields"]
    assert not first[0].is_stored


async def test_counts_stored_objects(server: InProcess, source: ClusterSource) -> None:
    """Ask a server of apiext in which versions objects are stored."""
    for name in ("a", "b"):
        assert (await server.ask("POST", widgets_path(), widget(name))).status == 201
    moved = {"spec": {"versions": [version("v1beta1"), version("v1"), version("v2", storage=True)]}}
    assert (await server.ask("PATCH", f"{CRDS}/widgets.example.com", moved, Content_Type="application/merge-patch+json")).status == 200
    assert (await server.ask("POST", widgets_path(), widget("c"))).status == 201

    assert await source.counts_stored()
    assert await source.stored_counts(definition(crd())) == ({"v1": 2, "v2": 1}, 0)
    assert await source.stored_counts(definition(crd("missing"))) == ({}, 0)


@pytest.mark.parametrize("code", [403, 404, 200])
async def test_other_servers_do_not_count(code: int) -> None:
    """Find out that a server does not count, also if a proxy answers with a page."""

    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=code, text="404 page not found")

    async with client_of(answer) as client:
        source = ClusterSource(_connection(str(client.make_url(""))))
        assert not await source.counts_stored()
        await source.close()


async def test_reads_a_served_version(server: InProcess, source: ClusterSource) -> None:
    """Read another version if the storage version is not served; fail if none is."""
    await server.ask("POST", widgets_path(), widget("a"))
    patch = [{"op": "replace", "path": "/spec/versions/1/served", "value": False}]
    of = definition(crd())
    await server.ask("PATCH", f"{CRDS}/{of.name}", patch, Content_Type="application/json-patch+json")

    assert await _keys(source, of) == ["default/a example.com/v1beta1"]
    patch[0]["path"] = "/spec/versions/0/served"
    await server.ask("PATCH", f"{CRDS}/{of.name}", patch, Content_Type="application/json-patch+json")
    other = ClusterSource(_connection(server.url("")))
    with pytest.raises(SourceError, match="serves no version"):
        await other.count(of)
    await other.close()


async def test_has_no_objects_of_an_unknown_definition(source: ClusterSource) -> None:
    """Return no objects of a definition that the cluster does not have."""
    of = definition(crd("gadgets", kind="Gadget"))

    assert (await source.count(of), await _keys(source, of)) == (0, [])


async def test_reports_refusals() -> None:
    """Raise the cluster's message, or say that it cannot be reached."""

    async def refuse(request: web.BaseRequest) -> web.StreamResponse:
        body: Any = {"kind": "Status", "message": "forbidden: no"} if request.path.endswith("widgets.example.com") else [1]
        return web.json_response(body, status=403 if isinstance(body, dict) else 200)

    async with client_of(refuse) as client:
        source = ClusterSource(_connection(str(client.make_url("/")).rstrip("/")))
        with pytest.raises(SourceError, match=r"^cluster test: forbidden: no$"):
            await source.release(["widgets.example.com"])
        with pytest.raises(SourceError, match="the answer is not JSON"):
            await source.release()
        await source.close()
    unreachable = ClusterSource(_connection("http://127.0.0.1:1"))
    with pytest.raises(SourceError, match="connection refused"):
        await unreachable.release()
    await unreachable.close()


async def test_waits_when_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again after 429, and continue a list whose token has expired."""
    monkeypatch.setattr("apiext.tools.releases.cluster_connection.PAUSES_SECONDS", (0.001, 0.001))
    gone = {"kind": "Status", "code": 410, "metadata": {"continue": "again"}}
    answers: list[tuple[int, Any]] = [
        (429, {"message": "slow down"}),
        (200, {"metadata": {"continue": "x"}, "items": [crd()]}),
        (410, gone),
        (200, {"metadata": {}, "items": [crd("gadgets", kind="Gadget")]}),
    ]

    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        code, body = answers.pop(0)
        return web.json_response(body, status=code)

    async with client_of(answer) as client:
        source = ClusterSource(_connection(str(client.make_url("/")).rstrip("/")))
        assert list((await source.release()).definitions) == ["widgets.example.com", "gadgets.example.com"]
        await source.close()


async def test_reads_a_version_that_the_definition_has(server: InProcess, source: ClusterSource) -> None:
    """Read objects in a version that the given definition has, too, not in the newer storage version."""
    await server.ask("POST", widgets_path(), widget("a"))

    assert await _keys(source, definition(crd("widgets", version("v1beta1", storage=True)))) == ["default/a example.com/v1beta1"]
