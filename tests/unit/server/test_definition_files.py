"""Definition files that the state of their definition rejects."""

import json
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupResource
from apiext.resources.conversion.known import KnownConversions
from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.definition import Definition
from apiext.resources.definitions.sources.conversion_files import ConversionFiles
from apiext.resources.definitions.sources.directory import BlockedError, DirectorySource
from apiext.server.definition_files import DefinitionFiles
from apiext.storage.stored_bytes.version_counts import StoredCounts, StoredVersions
from tests.support.builders.crds import crd, version, widget
from tests.support.captured_logs import logged
from tests.support.event_loop import advance, until
from tests.support.servers.in_process import CRDS, InProcess

ONE = f"{CRDS}/widgets.example.com"


def _crd(storage: str, *names: str) -> dict[str, Any]:
    return crd("widgets", *(version(name, storage=name == storage) for name in names))


def _definition(server: InProcess) -> Definition:
    definition = server.catalog.get("widgets.example.com")
    assert definition is not None
    return definition


def _writer(server: InProcess) -> DefinitionFiles:
    return DefinitionFiles(server.definitions.scopes[""], server.workers, server.catalog, server.stores.stored_versions, migrates=False)


@pytest.fixture
async def widgets(server: InProcess) -> InProcess:
    """Yield a server with the earlier state of a definition."""
    await server.define(_crd("v1", "v1"))
    return server


@pytest.fixture
async def source(tmp_path: Path, widgets: InProcess) -> DirectorySource:
    """Return the source of a folder with the earlier state of a definition; the later one has an object in v2."""
    later = await widgets.ask("PATCH", ONE, {"spec": _crd("v2", "v1", "v2")["spec"]}, Content_Type="application/merge-patch+json")
    assert later.status == 200
    await until(lambda: _definition(widgets).storage_version.name == "v2")
    path = "/apis/example.com/v1/namespaces/default/widgets"
    assert (await widgets.ask("POST", path, widget("a"))).status == 201
    (tmp_path / "old.json").write_text(json.dumps(_crd("v1", "v1")))
    return DirectorySource(tmp_path, _writer(widgets).apply, ConversionFiles(KnownConversions()))


async def test_reports_what_blocks_a_file(source: DirectorySource) -> None:
    """Report the rejection and the steps that make the file acceptable."""
    await source.load()

    problem, flip, migrate, prune = source.remarks
    assert problem.startswith('old.json: CustomResourceDefinition.apiextensions.k8s.io "widgets.example.com" is invalid')
    assert "missing from spec.versions" in problem
    assert flip.startswith("old.json: to accept it, step 1: make v1 the storage version")
    assert "(1 of v2)" in migrate
    assert "step 3: remove v2 from status.storedVersions" in prune


async def test_a_pending_file_is_one_line(source: DirectorySource, caplog: pytest.LogCaptureFixture) -> None:
    """Name the command that prints the steps, in the log and among the problems, and no step."""
    await source.load()

    steps = "kubectl get --raw /readyz/crd-dir"
    (problem,) = source.problems
    assert problem.startswith(f"old.json: pending, {steps} says what to do: CustomResourceDefinition")
    (line,) = [line for line in logged(caplog) if line.get("file")]
    assert (line["event"], line["steps"]) == ("definition file pending", steps)
    assert not [name for name in line if name.startswith("step_")]


async def test_accepts_the_file_when_nothing_blocks_it(source: DirectorySource, widgets: InProcess) -> None:
    """Apply the unchanged file once the steps are taken, and report the steps that are left until then."""
    await source.load()
    patch = {"Content_Type": "application/merge-patch+json"}
    await widgets.ask("PATCH", ONE, {"spec": _crd("v1", "v1", "v2")["spec"]}, **patch)
    await source.load()
    assert [line.partition("step ")[2][:8] for line in source.remarks[1:]] == ["1: store", "2: remov"]

    await until(lambda: _definition(widgets).storage_version.name == "v1")
    await widgets.ask("PATCH", "/apis/example.com/v1/namespaces/default/widgets/a", {"spec": {"x": 1}}, **patch)
    await source.load()
    assert [line.partition("step ")[2][:8] for line in source.remarks[1:]] == ["1: remov"]

    await widgets.ask("PATCH", f"{ONE}/status", {"status": {"storedVersions": ["v1"]}}, **patch)
    await until(lambda: _definition(widgets).head["status"]["storedVersions"] == ["v1"])
    await source.load()
    assert source.remarks == []
    names = [each["name"] for each in (await widgets.ask("GET", ONE)).json["spec"]["versions"]]
    assert names == ["v1"]


async def test_validates_a_blocked_definition_once(source: DirectorySource, widgets: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reject a definition again without validation while the state that blocks it is the same."""
    calls: list[Object] = []
    writer = _writer(widgets)
    monkeypatch.setattr("apiext.server.definition_files.perform_own", _recording(calls))
    definition = canonical(_crd("v1", "v1"))
    for _ in range(3):
        with pytest.raises(BlockedError):
            await writer.apply(definition)

    assert len(calls) == 1
    assert source.remarks == []


@pytest.mark.usefixtures("source")
async def test_counts_again_after_a_while(widgets: InProcess) -> None:
    """Scan the store for objects that block a file once, and later again."""
    scans: list[str] = []

    class Counted(StoredVersions):
        async def counts(self) -> StoredCounts:
            scans.append("")
            return await super().counts()

    def stored(resource: GroupResource) -> StoredVersions:
        return Counted(backend=widgets.backend, prefix=widgets.stores.key_prefix(resource), resource=resource)

    writer = DefinitionFiles(widgets.definitions.scopes[""], widgets.workers, widgets.catalog, stored, migrates=False)
    definition = canonical(_crd("v1", "v1"))

    async def blocked() -> str:
        with pytest.raises(BlockedError) as error:
            await writer.apply(definition)
        return "".join(error.value.steps)

    for _ in range(3):
        assert "(1 of v2)" in await blocked()
    assert len(scans) == 1
    advance(11)
    await blocked()
    assert len(scans) == 2


async def test_logs_what_a_file_strands(source: DirectorySource, widgets: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    """Log the number of objects that are stored in a version which a file removes."""
    patch = {"Content_Type": "application/merge-patch+json"}
    await widgets.ask("PATCH", ONE, {"spec": _crd("v1", "v1", "v2")["spec"]}, **patch)
    await widgets.ask("PATCH", f"{ONE}/status", {"status": {"storedVersions": ["v1"]}}, **patch)
    await source.load()

    assert source.remarks == []
    expected = "spec.versions: v2 is removed, but 1 object is stored in v2"
    assert [line["warning"] for line in logged(caplog) if line["event"] == "write accepted with a warning"] == [expected]


def _recording(calls: list[Object]) -> Any:
    from apiext.api.endpoints.handlers.write import perform_own

    async def recorded(*args: Any) -> Any:
        calls.append({})
        return await perform_own(*args)

    return recorded
