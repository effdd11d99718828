"""Updates of definitions that remove versions with stored objects."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.builders.crds import crd, version, widget
from tests.support.event_loop import until
from tests.support.servers.in_process import CRDS, Answer, InProcess

ONE = f"{CRDS}/widgets.example.com"
KIND = "CustomResourceDefinition.apiextensions.k8s.io"
TWO = "2 objects are stored in v1alpha1"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


@pytest.fixture(params=[False, True], ids=["warns", "refuses"])
async def guarded(request: pytest.FixtureRequest) -> AsyncIterator[tuple[InProcess, bool]]:
    """Yield a server with two widgets stored in v1alpha1 and one in v1, and whether it refuses to remove such versions."""
    async with InProcess(guard_stored_versions=request.param) as server:
        await server.define(crd("widgets", version("v1alpha1", storage=True), version("v1")))
        for name in "ab":
            assert (await server.ask("POST", WIDGETS, widget(name))).status == 201
        await change(server, lambda found: found["spec"].update(versions=[version("v1alpha1"), version("v1", storage=True)]))
        assert (await server.ask("POST", WIDGETS, widget("c"))).status == 201
        yield server, request.param


async def change(server: InProcess, edit: Any, path: str = ONE) -> Answer:
    """Change the definition by a PUT."""
    found = (await server.ask("GET", ONE)).json
    edit(found)
    return await server.ask("PUT", path, found)


async def prune(server: InProcess, *, dry_run: bool = False) -> Answer:
    """Remove v1alpha1 from the stored versions."""
    query = "?dryRun=All" if dry_run else ""
    return await change(server, lambda found: found["status"].update(storedVersions=["v1"]), f"{ONE}/status{query}")


async def migrate(server: InProcess) -> None:
    """Store all widgets in v1."""
    for name in "ab":
        assert (await server.ask("PUT", f"{WIDGETS}/{name}", (await server.ask("GET", f"{WIDGETS}/{name}")).json)).status == 200


@pytest.mark.parametrize("dry_run", [False, True])
async def test_counts_what_a_prune_strands(guarded: tuple[InProcess, bool], *, dry_run: bool) -> None:
    """Warn about a version removed from storedVersions while objects are stored in it, or refuse to remove it."""
    server, refuses = guarded
    pruned = await prune(server, dry_run=dry_run)

    if refuses:
        assert (pruned.status, pruned.message) == (
            422,
            f'{KIND} "widgets.example.com" is invalid: status.storedVersions: Forbidden: v1alpha1 must not be removed: {TWO}',
        )
        assert (await server.ask("GET", ONE)).json["status"]["storedVersions"] == ["v1alpha1", "v1"]
    else:
        assert (pruned.status, pruned.json["status"]["storedVersions"]) == (200, ["v1"])
        assert pruned.warnings == [f'299 - "status.storedVersions: v1alpha1 is removed, but {TWO}"']


async def test_counts_what_a_removed_version_strands(guarded: tuple[InProcess, bool]) -> None:
    """Warn about a version removed from the spec while an object is stored in it, or refuse to remove it."""
    server, refuses = guarded
    assert (await server.ask("DELETE", f"{WIDGETS}/a")).status == 200
    async with InProcess(backend=server.backend) as unguarded:
        assert (await prune(unguarded)).status == 200
    await until(lambda: server.catalog.all()[0].head["status"]["storedVersions"] == ["v1"])
    removed = await change(server, lambda found: found["spec"].update(versions=[version("v1", storage=True)]))

    if refuses:
        assert removed.status == 422
        assert "spec.versions: Forbidden: v1alpha1 must not be removed: 1 object is stored in v1alpha1" in removed.message
    else:
        assert removed.status == 200
        assert removed.warnings == ['299 - "spec.versions: v1alpha1 is removed, but 1 object is stored in v1alpha1"']


async def test_admits_what_strands_nothing(guarded: tuple[InProcess, bool]) -> None:
    """Remove a version without objects from both lists, without a warning."""
    server, _ = guarded
    await migrate(server)
    answers = [await prune(server), await change(server, lambda found: found["spec"].update(versions=[version("v1", storage=True)]))]

    assert [(answer.status, answer.warnings) for answer in answers] == [(200, []), (200, [])]


async def test_warns_about_unreadable_objects(guarded: tuple[InProcess, bool]) -> None:
    """Warn about objects whose version is unknown, whether the guard refuses or not: no migration changes them."""
    server, _ = guarded
    await migrate(server)
    await server.backend.create("/registry/example.com/widgets/default/x", b"k8s:enc:aesgcm:v1:key:x")
    pruned = await prune(server)

    assert (pruned.status, pruned.warnings) == (
        200,
        ['299 - "status.storedVersions: v1alpha1 is removed, but 1 object is stored in an unknown version"'],
    )


async def test_guards_large_definitions(guarded: tuple[InProcess, bool]) -> None:
    """Count for a worker process, too, which validates large definitions."""
    server, refuses = guarded

    def prune_large(found: dict[str, Any]) -> None:
        found["status"]["storedVersions"] = ["v1"]
        found["metadata"]["annotations"] = {"example.com/large": "x" * 100_000}

    pruned = await change(server, prune_large, f"{ONE}/status")

    assert TWO in (pruned.message if refuses else pruned.warnings[0])
