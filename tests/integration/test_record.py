"""Recordings of running servers and of their stores, with the command line."""

import asyncio
import http
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.tools.places import Access, open_source
from apiext.tools.recordings.archive_reader import open_archive
from apiext.tools.releases.interface import SourceObject
from apiext.tools.releases.store_place import EtcdAccess, StoreSource, open_store
from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version, widget
from tests.support.clients.client import CRDS, MERGE_PATCH, Client

GROUP: Final = "record.example.com"
NAME: Final = f"widgets.{GROUP}"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
TEXT: Final[dict[str, Any]] = {"type": "string"}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"login": TEXT | {"format": "password"}, "peer": TEXT}}},
}
Ask = Callable[[str, str, Any], Any]


def _fill(ask: Ask) -> None:
    """Create a definition, an object in v1beta1, and after a change of the storage version one in v1."""
    old, new = version("v1beta1", storage=True, schema=SCHEMA), version("v1", schema=SCHEMA)
    ask("POST", CRDS, crd("widgets", old, new, group=GROUP))
    until(lambda: _is_created(ask, "a"))
    versions = [old | {"storage": False}, new | {"storage": True}]
    ask("PATCH", f"{CRDS}/{NAME}", {"spec": {"versions": versions}})
    assert ask("GET", f"{CRDS}/{NAME}", None)["status"]["storedVersions"] == ["v1beta1", "v1"]
    until(lambda: _is_created(ask, "b"))


def _is_created(ask: Ask, name: str) -> bool:
    answer = ask("POST", WIDGETS, widget(name, group=GROUP, login="hidden", peer="a"))
    return isinstance(answer, dict) and answer["kind"] == "Widget"


def _record(archive: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "apiext", "record", str(archive), f"--crd={NAME}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def _objects(archive: Path) -> list[SourceObject]:
    return asyncio.run(_read(archive))


async def _read(archive: Path) -> list[SourceObject]:
    source = await open_archive(archive)
    try:
        release = await source.release()
        assert release.definitions[NAME].head["status"]["storedVersions"] == ["v1beta1", "v1"]
        return [found async for page in source.pages(release.definitions[NAME]) for found in page]
    finally:
        await source.close()


def _check(objects: list[SourceObject], stored: dict[str, str]) -> None:
    """Compare recorded objects with keys and the versions in which they are stored, which are empty if a server gave the objects."""
    found = {one.key: one.object["apiVersion"].partition("/")[2] if one.is_stored else "" for one in objects}
    assert found == stored
    for one in objects:
        assert one.object["spec"] == {"login": "redacted-1", "peer": "a"}
        assert one.object["metadata"]["managedFields"]


def test_records_a_server_and_its_store(own_server: ApiextServer, tmp_path: Path) -> None:
    """Record a running server over its API, and its store beside it."""
    with Client(own_server) as client:

        def ask(method: str, path: str, body: Any) -> Any:
            reply = client.ask(method, path, body, headers=MERGE_PATCH if method == "PATCH" else None)
            return reply.json if reply.body.startswith(b"{") else None

        _fill(ask)
    store = own_server.etcd_url or own_server.data_dir
    for archive, place in (("api.tar.gz", own_server.kubeconfig), ("store.tar.gz", store)):
        done = _record(tmp_path / archive, f"--from={place}", f"--etcd-prefix={own_server.etcd_prefix}")
        assert (done.stderr, done.stdout.splitlines()[0]) == ("", f"{NAME}: 2 objects")

    _check(_objects(tmp_path / "api.tar.gz"), {"default/a": "", "default/b": ""})
    _check(_objects(tmp_path / "store.tar.gz"), {"default/a": "v1beta1", "default/b": "v1"})
    done = _record(tmp_path / "names.tar.gz", f"--from={tmp_path}/api.tar.gz", "--anonymize")
    assert done.returncode == 0, done.stderr
    first, _ = _objects(tmp_path / "names.tar.gz")
    assert first.key.removeprefix("default/") == first.object["metadata"]["name"] != "a"
    assert own_server.process.running


@pytest.mark.slow
def test_records_the_reference(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Record kube-apiserver over its API, its etcd, and a snapshot of that, which a temporary etcd serves."""

    def ask(method: str, path: str, body: Any) -> Any:
        headers = MERGE_PATCH.items() if method == "PATCH" else ()
        return control_plane.client.ask(method, path, body, headers)[1]

    _fill(ask)
    until(lambda: _is_stored_in_v1(ask, control_plane))
    snapshot = tmp_path / "snapshot.db"
    etcdctl: list[str | Path] = [binaries.binary("etcdctl"), f"--endpoints={control_plane.etcd_url}", "snapshot", "save", snapshot]
    subprocess.run(etcdctl, check=True, capture_output=True)
    tools = binaries.provide(["etcd", "etcdutl"])
    assert _record(tmp_path / "api", f"--kubeconfig={control_plane.kubeconfig}").stderr == ""
    for archive, place in (("etcd", control_plane.etcd_url), ("snapshot", snapshot)):
        done = _record(tmp_path / archive, f"--from={place}", f"--etcd-tools={tools}", f"--etcd-prefix={control_plane.etcd_prefix}")
        assert done.stderr == ""

    _check(_objects(tmp_path / "api"), {"default/a": "", "default/b": ""})
    for archive in ("etcd", "snapshot"):
        _check(_objects(tmp_path / archive), {"default/a": "v1beta1", "default/b": "v1"})
    assert asyncio.run(_count(str(control_plane.kubeconfig))) == 2
    asyncio.run(_is_ended(snapshot, tools))
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(snapshot.read_bytes()[:-4096])
    done = _record(tmp_path / "none", f"--from={damaged}", f"--etcd-tools={tools}")
    assert done.returncode == 1
    assert done.stderr.startswith(f"apiext: {damaged} cannot be restored as a snapshot of etcd: ")
    assert len(done.stderr.splitlines()) == 1
    assert control_plane.client.ask("DELETE", f"{CRDS}/{NAME}")[0] == http.HTTPStatus.OK


def _is_stored_in_v1(ask: Ask, control_plane: ControlPlane) -> bool:
    """Report whether "b" is stored in v1. Create it again if not: the server writes in the former version for a moment."""
    store = open_store(control_plane.etcd_url, EtcdAccess(prefix=control_plane.etcd_prefix))
    stored = {found.key: found.object["apiVersion"] for found in asyncio.run(_of_store(store))}
    if stored.get("default/b") == f"{GROUP}/v1":
        return True
    ask("DELETE", f"{WIDGETS}/b", None)
    until(lambda: _is_created(ask, "b"))
    return False


async def _of_store(opening: Awaitable[StoreSource]) -> list[SourceObject]:
    source = await opening
    try:
        definition = (await source.release([NAME])).definitions[NAME]
        return [found async for page in source.pages(definition) for found in page]
    finally:
        await source.close()


async def _count(place: str) -> int | None:
    source = await open_source(place, Access())
    try:
        return await source.count((await source.release([NAME])).definitions[NAME])
    finally:
        await source.close()


async def _is_ended(snapshot: Path, tools: Path) -> None:
    """Check that the etcd of a snapshot ends, and that its data is deleted."""
    source = await open_store(str(snapshot), EtcdAccess(tools=tools))
    running = _temporary_folders()
    assert running
    await source.close()
    assert not _temporary_folders() & running


def _temporary_folders() -> set[str]:
    """Return the folders of snapshots that programs use as data directories."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return {line for line in listed.splitlines() if "--data-dir=" in line and "apiext-snapshot-" in line}
