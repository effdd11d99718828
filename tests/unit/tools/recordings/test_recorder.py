"""Recordings of sources, and archives."""

import gzip
import io
import json
import tarfile
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.limits import MAX_DEPTH
from apiext.resources.definitions.definition import Definition
from apiext.tools.recordings.archive_format import RecordingManifest
from apiext.tools.recordings.archive_reader import open_archive
from apiext.tools.recordings.recorder import RecordingOptions, record, write_archive
from apiext.tools.releases.interface import Release, SourceError, SourceObject
from apiext.tools.releases.object_spool import ObjectSpool
from tests.support.builders.crds import crd, definition, widget


class _Source:
    """Has a few widgets, one of them encrypted."""

    origin = "here"

    def __init__(self, *objects: SourceObject) -> None:
        self._objects = objects

    async def release(self, names: Collection[str] | None = None, *, groups: Collection[str] = ()) -> Release:
        return Release("here", {name.name: name for name in (definition(crd()), definition(crd("gadgets", kind="Gadget")))}, is_live=True)

    async def count(self, definition: Definition) -> int | None:
        return None

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        if definition.names.kind == "Widget":
            for found in self._objects:
                yield [found]

    async def close(self) -> None:
        pass


def _stored(name: str, namespace: str = "prod", **spec: Any) -> SourceObject:
    return SourceObject(f"{namespace}/{name}", widget(name, metadata={"namespace": namespace}, **spec), is_stored=True)


async def _record(path: Path, *objects: SourceObject, **options: Any) -> RecordingManifest:
    source = _Source(*objects)
    return await record(source, await source.release(), path, RecordingOptions(**options))


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def _objects(path: Path) -> list[SourceObject]:
    archive = await open_archive(path)
    try:
        release = await archive.release(["widgets.example.com"])
        async with aclosing(archive.pages(release.definitions["widgets.example.com"])) as pages:
            return [found async for page in pages for found in page]
    finally:
        await archive.close()


async def test_records_and_reads(tmp_path: Path) -> None:
    """Read definitions and objects back, without their secrets, and unreadable ones with their problem."""
    path = tmp_path / "a.tar.gz"
    sealed = SourceObject("prod/sealed", {}, is_stored=True, problem="is encrypted")
    manifest = await _record(path, _stored("a", token="x"), sealed)
    archive = await open_archive(path)

    assert manifest.objects == {"gadgets.example.com": 0, "widgets.example.com": 2}
    assert await _objects(path) == [_stored("a", token="redacted-1"), sealed]
    assert archive.manifest == manifest
    release = await archive.release()
    assert (release.is_live, archive.origin) == (True, f"recording {path} of here")
    assert [one.head for one in release.definitions.values()] == [definition(crd("gadgets", kind="Gadget")).head, definition(crd()).head]
    assert await archive.count(release.definitions["widgets.example.com"]) == 2
    assert await archive.count(definition(crd("others"))) == 0
    assert [page async for page in archive.pages(definition(crd("others")))] == []
    await archive.close()


async def test_options(tmp_path: Path) -> None:
    """Keep secrets without redaction, redact named paths, and record the named definitions only."""
    await _record(tmp_path / "a", _stored("a", token="x"), redact=False)
    await _record(tmp_path / "b", _stored("a", token="x", mode="y"), paths=[("spec", "mode")], names=["widgets.example.com"])

    assert await _objects(tmp_path / "a") == [_stored("a", token="x")]
    assert await _objects(tmp_path / "b") == [_stored("a", token="redacted-1", mode="redacted-2")]
    archive = await open_archive(tmp_path / "b")
    assert list(archive.manifest.objects) == ["widgets.example.com"]
    await archive.close()
    with pytest.raises(SourceError, match=r"^here has no definition others\.example\.com$"):
        await _record(tmp_path / "c", names=["others.example.com"])


async def test_anonymizes(tmp_path: Path) -> None:
    """Replace names with the same pseudonyms in all objects, which are sorted by their new keys."""
    given = [_stored(f"w{index}", ref="w1") for index in range(20)]
    manifest = await _record(tmp_path / "a", *given, anonymize=True)
    found = await _objects(tmp_path / "a")
    names = [one.object["metadata"]["name"] for one in found]

    archive = await open_archive(tmp_path / "a")
    assert (manifest.is_anonymized, archive.manifest.origin) == (True, "")
    await archive.close()
    assert [one.key for one in found] == sorted(
        f"{one.object['metadata']['namespace']}/{name}" for one, name in zip(found, names, strict=True)
    )
    assert len({one.object["metadata"]["namespace"] for one in found}) == 1
    assert {one.object["spec"]["ref"] for one in found} <= set(names)
    assert len(set(names)) == 20


async def test_deep_objects_become_problems(tmp_path: Path) -> None:
    """Record an object that is nested deeper than the server admits as a problem."""
    deep: Any = "x"
    for _ in range(MAX_DEPTH):
        deep = {"a": deep}
    await _record(tmp_path / "a", _stored("a", deep=deep), _stored("b"))

    assert [(one.key, one.problem[:24]) for one in await _objects(tmp_path / "a")] == [
        ("prod/a", "is nested too deeply to "),
        ("prod/b", ""),
    ]


async def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    """Write the same bytes twice: members are sorted, and have no time and no owner."""
    for name in ("a", "b"):
        await _record(tmp_path / name, _stored("b", token="x"), _stored("a"))

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with tarfile.open(tmp_path / "a") as tar:
        assert [(member.name, member.mtime, member.uid) for member in tar.getmembers()] == [
            (name, 0, 0)
            for name in (
                "recording.json",
                "definitions/gadgets.example.com.json",
                "definitions/widgets.example.com.json",
                "objects/gadgets.example.com.jsonl",
                "objects/widgets.example.com.jsonl",
            )
        ]


async def test_does_not_replace_an_archive(tmp_path: Path) -> None:
    """Keep an existing archive unless it is forced to, and leave no temporary file."""
    path = tmp_path / "a"
    path.write_text("mine")
    with pytest.raises(SourceError, match="exists: --force replaces it"):
        await _record(path)
    await _record(path, force=True)

    assert await _objects(path) == []
    assert _names(tmp_path) == ["a"]
    assert path.stat().st_mode & 0o777 == 0o600
    for target, problem in ((tmp_path, "is a folder"), (tmp_path / "x" / "a", "is no folder")):
        with pytest.raises(SourceError, match=problem):
            await _record(target)


async def test_leaves_nothing_after_a_failure(tmp_path: Path) -> None:
    """Write no archive if the source fails or a definition is invalid."""

    class Failing(_Source):
        async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
            async for page in super().pages(definition):
                yield page
            raise SourceError("gone")

    source = Failing()
    with pytest.raises(SourceError, match="gone"):
        await record(source, await source.release(), tmp_path / "a", RecordingOptions())
    with pytest.raises(SourceError, match="here has no definitions"):
        await record(source, Release("here", {}), tmp_path / "a", RecordingOptions())
    with pytest.raises(SourceError, match="here: x is invalid: because"):
        await record(source, Release("here", {}, {"x": ["because"]}), tmp_path / "a", RecordingOptions())

    assert _names(tmp_path) == []


def test_large_lines_are_complete(tmp_path: Path) -> None:
    """Write lines of any length, longer than the buffer of tar too."""
    lines = {f"a/{index}": json.dumps({"key": "x" * size}).encode() + b"\n" for index, size in enumerate((1, 20_000, 3, 100_000))}
    with closing(ObjectSpool()) as spool:
        for key, line in lines.items():
            spool.add("n", key, line)
        manifest = RecordingManifest(origin="", is_redacted=True, is_anonymized=False, objects={"n": 4})
        write_archive(tmp_path / "a", manifest, {"n": crd()}, spool, force=False)
    with tarfile.open(tmp_path / "a") as tar:
        member = tar.extractfile("objects/n.jsonl")
        assert member is not None
        assert member.read() == b"".join(lines.values())


@pytest.mark.parametrize("missing", ["recording.json", "definitions/widgets.example.com.json", "objects/widgets.example.com.jsonl"])
async def test_damaged_archives(tmp_path: Path, missing: str) -> None:
    """Name what an archive lacks."""
    await _record(tmp_path / "a", _stored("a"))
    packed = io.BytesIO()
    with tarfile.open(tmp_path / "a") as whole, tarfile.open(fileobj=packed, mode="w") as part:
        for member in whole.getmembers():
            if member.name != missing:
                part.addfile(member, whole.extractfile(member))
    (tmp_path / "b").write_bytes(gzip.compress(packed.getvalue()))
    with pytest.raises(SourceError, match=r"is not a recording|is missing or damaged"):
        await _objects(tmp_path / "b")
