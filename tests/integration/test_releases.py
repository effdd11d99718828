"""Definitions in git revisions."""

import json
from pathlib import Path

import pytest
import yaml

from apiext.tools.places import Access, PlaceKind, open_release, open_source, place_of
from apiext.tools.releases.git_revision import release_of_revision
from apiext.tools.releases.interface import SourceError
from tests.support.builders.crds import crd, definition, version, widget
from tests.support.git import git


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a work tree with a few commits; `first` has widgets in v1 and a file in another folder."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    folder = tmp_path / "tree"
    (folder / "config" / "crd").mkdir(parents=True)
    monkeypatch.delenv("GIT_DIR")
    git(folder, "init", "-q")
    git(folder, "config", "core.autocrlf", "false")
    (folder / "config" / "crd" / "w idgets.json").write_text(json.dumps(crd()))
    (folder / "config" / "crd" / "kustomization.txt").write_text("CustomResourceDefinition")
    (folder / "gadgets.json").write_text(json.dumps(crd("gadgets", kind="Gadget")))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "1")
    git(folder, "tag", "first")
    (folder / "config" / "crd" / "w idgets.json").write_text(json.dumps(crd("widgets", version("v2", storage=True))))
    (folder / "bad.yaml").write_text("kind: CustomResourceDefinition: x")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "bad")
    git(folder, "tag", "bad")
    (folder / "bad.yaml").unlink()
    (folder / "gadgets.json").unlink()
    git(folder, "commit", "-qam", "2")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    return folder


async def test_reads_an_earlier_revision(tree: Path) -> None:
    """Read the same paths in a revision: a folder, or a file that no longer exists."""
    release = await release_of_revision("first", [tree / "config", tree / "gadgets.json"])

    assert release.origin == "git first"
    assert [f"{name} {one.storage_version.name}" for name, one in release.definitions.items()] == [
        "gadgets.example.com v1",
        "widgets.example.com v1",
    ]
    assert (await release_of_revision("HEAD", [tree / "config"])).definitions["widgets.example.com"].storage_version.name == "v2"
    assert list((await release_of_revision("first", [tree])).definitions) == ["gadgets.example.com", "widgets.example.com"]
    assert list((await release_of_revision("first", [tree / "config/crd/../crd"])).definitions) == ["widgets.example.com"]


async def test_a_missing_path_has_no_definitions(tree: Path) -> None:
    """Find nothing at a path that the revision does not have."""
    assert (await release_of_revision("first", [tree / "new" / "crd"])).definitions == {}


async def test_reports_what_is_wrong(tree: Path, tmp_path: Path) -> None:
    """Say that there is no work tree or no such revision, and which file of which revision is invalid."""
    with pytest.raises(SourceError, match=f"^{tmp_path} is not in a git work tree: fatal: not a git repository"):
        await release_of_revision("first", [tmp_path])
    for revision in ("v9", "-h", "first:config"):
        with pytest.raises(SourceError, match=f"{tree} has no revision '{revision}'"):
            await release_of_revision(revision, [tree])
    with pytest.raises(SourceError, match=r"^bad:bad\.yaml: line 1, column 31: "):
        await release_of_revision("bad", [tree])


async def test_a_revision_is_a_place(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recognize a revision in the work tree of the paths or of the current folder; it has definitions only."""
    assert (await place_of("first", paths=[tree / "config"])).kind is PlaceKind.REVISION
    assert list((await open_release("first", Access(), paths=[tree / "config"])).definitions) == ["widgets.example.com"]
    with pytest.raises(SourceError, match="'first' names nothing that exists"):
        await place_of("first", paths=["/"])
    monkeypatch.chdir(tree)
    assert (await place_of("first")).kind is PlaceKind.REVISION
    with pytest.raises(SourceError, match="is a git revision without a path: first:FOLDER names"):
        await open_source("first", Access())
    with pytest.raises(SourceError, match="there are no files to read in it"):
        await open_release("first", Access())


@pytest.mark.parametrize(
    "folder, text", [("", "first:config/crd"), ("config", "first:config/crd/"), ("config", "first:./crd"), ("", "first:")]
)
async def test_a_path_in_a_revision_is_a_place(tree: Path, monkeypatch: pytest.MonkeyPatch, folder: str, text: str) -> None:
    """Read definitions and objects at a path in a revision, which is relative to the top as in git, or to the current folder."""
    (tree / "config" / "crd" / "sample.yaml").write_text(yaml.dump(widget("later")))
    monkeypatch.chdir(tree / folder)

    assert (await place_of(text)).kind is PlaceKind.REVISION
    assert (await open_release(text, Access())).definitions["widgets.example.com"].storage_version.name == "v1"
    source = await open_source(text, Access())
    assert source.origin == f"git {text}"
    assert await source.count(definition(crd())) == 0
    await source.close()


async def test_objects_of_a_revision(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the objects that a folder had in a revision, and say that it was not there."""
    (tree / "samples").mkdir()
    (tree / "samples" / "a.yaml").write_text(yaml.dump(widget("a")))
    monkeypatch.delenv("GIT_DIR")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "samples")
    git(tree, "tag", "samples")
    (tree / "samples" / "a.yaml").write_text(yaml.dump(widget("b")))
    monkeypatch.chdir(tree)

    source = await open_source("samples:samples", Access())
    assert [one.key async for page in source.pages(definition(crd())) for one in page] == ["default/a"]
    await source.close()
    with pytest.raises(SourceError, match=r"^git first does not have samples$"):
        await open_source("first:samples", Access())
    with pytest.raises(SourceError, match="'v9:samples' names nothing that exists"):
        await open_source("v9:samples", Access())
