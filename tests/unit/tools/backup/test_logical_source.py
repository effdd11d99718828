"""Backups of the objects of servers."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.storage.backups.stored_pairs import BackupError
from apiext.tools.backup.archive_reader import open_backup
from apiext.tools.backup.creation import back_up_server
from apiext.tools.releases.cluster_connection import ClusterConnection
from tests.support.builders.crds import crd, version, widget
from tests.support.servers.handler_server import client_of

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/widgets"
ESTABLISHED = {"conditions": [{"type": "Established", "status": "True"}]}


def page(*items: Any, more: str = "") -> Any:
    """Return a page of a list."""
    return {"metadata": {"resourceVersion": "1", "continue": more}, "items": list(items)}


async def backed_up(folder: Path, answers: dict[str, Any]) -> dict[str, int]:
    """Back up a server that has these answers by path, and those to a continued list by the path with `+`; return the counts."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        found = answers.get(request.path + ("+" if "continue" in request.query else ""))
        return web.json_response(found or {"message": "not found"}, status=200 if found else 404)

    async with client_of(answer) as client:
        server = ClusterConnection("test", Endpoint(url=str(client.make_url("")).rstrip("/"), context=None))
        try:
            return dict((await back_up_server(server, (), folder / "b.tar.gz")).resources)
        finally:
            await server.close()


async def test_nothing_is_left_out(tmp_path: Path) -> None:
    """Fail if a list is missing or ends early that the server must have; leave no file."""
    definitions = page(crd() | {"status": ESTABLISHED})
    incomplete: list[dict[str, Any]] = [
        {},
        {DEFINITIONS: definitions},
        {DEFINITIONS: definitions, WIDGETS: page(widget("a"), more="x")},
    ]
    for answers in incomplete:
        with pytest.raises(BackupError, match="cluster test does not serve /apis/"):
            await backed_up(tmp_path, answers)
    assert _names(tmp_path) == []

    whole = incomplete[-1] | {f"{WIDGETS}+": page(widget("b"))}
    assert (await backed_up(tmp_path, whole))["widgets.example.com"] == 2


async def test_definitions_that_were_never_served(tmp_path: Path) -> None:
    """Back up a definition whose names are not accepted, without objects."""
    assert await backed_up(tmp_path, {DEFINITIONS: page(crd())}) == {"customresourcedefinitions.apiextensions.k8s.io": 1}


async def test_the_version_of_restored_objects_is_recorded(tmp_path: Path) -> None:
    """Name the version in which objects are restored in status.storedVersions, also if it was not the storage version."""
    versions = [version("v1", storage=True, served=False), version("v2")]
    definition = crd("widgets", *versions) | {"status": ESTABLISHED | {"storedVersions": ["v1"]}}
    await backed_up(tmp_path, {DEFINITIONS: page(definition), "/apis/example.com/v2/widgets": page(widget("a"))})
    with open_backup(tmp_path / "b.tar.gz") as opened:
        stored = {key: json.loads(value) for key, value in opened.pairs.pairs()}

    assert stored["apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"]["status"]["storedVersions"] == ["v1", "v2"]


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
