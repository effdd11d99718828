"""`apiext rescue` on a store without its server."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from apiext.cli.main import apiext
from apiext.resources.definitions.codec import CRDCodec
from apiext.storage.sqlite.backend import SQLiteBackend
from tests.support.builders.crds import stored_crd, version

CRD: Final = "widgets.example.com"
PREFIX: Final = "/registry/example.com/widgets/"
Run = Callable[..., Result]


def _schema(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {name: {"type": "integer"}}}}}


def _widget(api_version: str, field: str) -> bytes:
    return json.dumps(
        {"apiVersion": f"example.com/{api_version}", "kind": "Widget", "metadata": {"name": "x"}, "spec": {field: 1}}
    ).encode()


STORED: Final = {
    f"{PREFIX}default/broken": b'{"apiVersion": \x1b[2J',
    f"{PREFIX}default/gone": _widget("v9", "old"),
    f"{PREFIX}default/good": _widget("v1", "new"),
    f"{PREFIX}default/shaped": _widget("v1", "old"),
    "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com": CRDCodec()
    .encode(stored_crd(versions=[version("v1", storage=True, schema=_schema("new")), version("v1beta1", schema=_schema("old"))]))
    .stored,
}


async def _fill(file: Path) -> None:
    backend = await SQLiteBackend.open(file)
    for key, data in STORED.items():
        await backend.create(key, data)
    await backend.close()


def _stored(folder: Path) -> dict[str, bytes]:
    """Return the stored widgets by name."""

    async def read() -> dict[str, bytes]:
        backend = await SQLiteBackend.open(folder / "apiext.db")
        found = await backend.list(PREFIX)
        await backend.close()
        return {pair.key.rpartition("/")[2]: pair.value for pair in found.items}

    return asyncio.run(read())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a store with unreadable objects."""
    asyncio.run(_fill(tmp_path / "apiext.db"))
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Return a function that runs a command of the rescue."""

    def invoke(command: str, *arguments: str | Path) -> Result:
        return CliRunner().invoke(apiext, ["rescue", command, *map(str, arguments), f"--data-dir={folder}"], standalone_mode=False)

    return invoke


def _names(output: str) -> Sequence[str]:
    return [row["key"] for row in json.loads(output)]


def test_lists(run: Run) -> None:
    """List the objects that cannot be read, with the reason and the version that they fit; no control characters."""
    text, found = run("list").output, run("list", CRD, "-o", "json").output

    assert text.startswith(
        "widgets.example.com (stored in v1)\n  default/broken: 19 bytes, without a readable apiVersion, not a JSON object\n"
    )
    assert "  default/gone: 97 bytes, labelled example.com/v9, fits v1beta1\n      object not decodable" in text
    assert "\x1b" not in text
    assert _names(found) == ["default/broken", "default/gone"]
    assert _names(run("list", "--mislabelled", "-o", "json").output) == ["default/shaped"]


def test_shows_bytes(run: Run) -> None:
    """Show an object as JSON, other bytes as text, and what each version has against it; bounded."""
    gone, broken = run("show", CRD, "default/gone").output, run("show", CRD, "default/broken").output

    assert "v1beta1: fits\nv1: 1 unknown\n  unknown field spec.old\n{\n" in gone
    assert '  "apiVersion": "example.com/v9",\n' in gone
    assert broken.endswith('{"apiVersion": \ufffd[2J\n')
    assert run("show", CRD, "default/gone", "--bytes=10").output.endswith("more characters)\n")
    assert "can be read" in run("show", CRD, "default/good").output


def test_does_nothing_without_yes(run: Run, folder: Path) -> None:
    """Print what would be rewritten or deleted, and change nothing."""
    before = _stored(folder)
    rewritten = run("rewrite", CRD, "--all")
    deleted = run("delete", CRD, "--all", "--export-to", folder / "out")

    assert "default/gone: would be rewritten as v1beta1\n" in rewritten.output
    assert "default/broken: not rewritten: the bytes are not a JSON object" in rewritten.output
    assert (rewritten.return_value, deleted.return_value) == (1, 0)
    assert deleted.output.count("would be deleted") == 2
    assert all(
        result.output.endswith("Nothing was changed. Repeat the command with --yes to do this.\n") for result in (rewritten, deleted)
    )
    assert _stored(folder) == before
    assert not (folder / "out").exists()


def test_rewrites(run: Run, folder: Path) -> None:
    """Label an object with the version that it fits; convert it to the storage version on demand, and name what gets lost."""
    assert run("rewrite", CRD, "default/gone", "--yes").output == "default/gone: rewritten as v1beta1\n"
    assert json.loads(_stored(folder)["gone"])["apiVersion"] == "example.com/v1beta1"

    encoded = run("rewrite", CRD, "--all", "--mislabelled", "--encode", "--yes").output
    assert encoded.splitlines() == [
        "default/shaped: rewritten as v1beta1, converted to v1",
        "  spec.old is lost: the version does not have it",
    ]
    assert json.loads(_stored(folder)["shaped"])["spec"] == {}


def test_rewrites_from_a_file(run: Run, folder: Path) -> None:
    """Export broken bytes, and take the repaired file in their place."""
    path = Path(run("export", CRD, "default/broken", "--to", folder / "out").output.strip())
    assert path == folder / "out" / CRD / "default" / "broken"
    assert path.read_bytes() == STORED[f"{PREFIX}default/broken"]
    path.write_bytes(_widget("v1", "new"))

    assert run("rewrite", CRD, "default/broken", "--from", path, "--yes").output == "default/broken: rewritten as v1\n"
    assert json.loads(_stored(folder)["broken"])["metadata"]["name"] == "broken"
    assert "exists with another content" in str(run("export", CRD, "default/broken", "--to", folder / "out").exception)


def test_deletes(run: Run, folder: Path) -> None:
    """Delete the objects that cannot be read, after their export; refuse to delete others."""
    asked = run("delete", CRD, "default/good")
    refused = run("delete", CRD, "default/good", "--export-to", folder / "out", "--yes")
    deleted = run("delete", CRD, "--all", "--export-to", folder / "out", "--yes")

    for result in (asked, refused):
        assert (result.return_value, "default/good: not deleted: it can be read" in result.output) == (1, True)
    assert not (folder / "out" / CRD / "default" / "good").exists()
    assert deleted.return_value == 0
    assert sorted(_stored(folder)) == ["good", "shaped"]
    assert (folder / "out" / CRD / "default" / "gone").read_bytes() == STORED[f"{PREFIX}default/gone"]
    assert run("list").output == "All objects can be read.\n"
    assert run("rewrite", CRD, "--all", "--mislabelled", "--yes").return_value == 0
    assert run("list", "--mislabelled").output == "No object has the fields of another version.\n"


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (("delete", CRD), "either OBJECT or --all is needed"),
        (("delete", CRD, "default/gone", "--all"), "either OBJECT or --all is needed"),
        (("delete", "none.example.com", "--all"), "there is no definition none.example.com"),
        (("show", CRD, "default/none"), "widgets.example.com has no object default/none"),
        (("rewrite", CRD, "--all", "--from", "x"), "--from: x: No such file or directory"),
        (("list", "--mislabelled", "--unconvertible"), "either --mislabelled or --unconvertible"),
        (("list", "--etcd-servers=http://127.0.0.1:1"), "either --data-dir or --etcd-servers is needed, not both"),
    ],
)
def test_refuses(run: Run, arguments: tuple[str, ...], problem: str) -> None:
    """Refuse contradictory arguments and what does not exist, in one line."""
    assert problem in str(run(*arguments).exception)


def test_refuses_to_write_beside_a_server(run: Run, folder: Path) -> None:
    """Read a store in use, but do not write it."""

    async def beside() -> tuple[Result, Result]:
        backend = await SQLiteBackend.open(folder / "apiext.db")
        try:
            return await asyncio.to_thread(run, "list"), await asyncio.to_thread(run, "delete", CRD, "--all", "--yes")
        finally:
            await backend.close()

    listed, deleted = asyncio.run(beside())

    assert "default/gone" in listed.output
    assert "is in use by another process" in str(deleted.exception)


def test_a_server_without_the_keys_of_its_store(folder: Path) -> None:
    """Name the flag that a server lacks whose definitions are encrypted."""
    _store_definition(folder, b"k8s:enc:aesgcm:v1:key1:x")
    started = CliRunner().invoke(apiext, ["serve", f"--data-dir={folder}", "--secure-port=0"], standalone_mode=False)

    assert str(started.exception).endswith("encrypted data; its objects are encrypted: --encryption-provider-config names their keys")


def _store_definition(folder: Path, value: bytes) -> None:
    """Store the definition of bad.example.com."""

    async def store() -> None:
        backend = await SQLiteBackend.open(folder / "apiext.db")
        await backend.create("/registry/apiextensions.k8s.io/customresourcedefinitions/bad.example.com", value)
        await backend.close()

    asyncio.run(store())


def test_repairs_a_store_that_no_server_can_use(run: Run, folder: Path) -> None:
    """Name an unreadable definition when a server starts, and delete it without the server."""
    _store_definition(folder, b"x")
    started = CliRunner().invoke(apiext, ["serve", f"--data-dir={folder}", "--secure-port=0"], standalone_mode=False)
    listed, deleted = run("list").output, run("delete", "customresourcedefinitions.apiextensions.k8s.io", "bad.example.com", "--yes")

    assert str(started.exception).endswith("; see apiext rescue")
    assert "\ncustomresourcedefinitions.apiextensions.k8s.io (stored in v1beta1)\n  bad.example.com: 1 byte, " in listed
    assert deleted.return_value == 0
    assert "bad.example.com" not in run("list").output


def test_creates_no_store(tmp_path: Path) -> None:
    """Refuse a folder without a store instead of creating one."""
    result = CliRunner().invoke(apiext, ["rescue", "delete", CRD, "--all", "--yes", f"--data-dir={tmp_path}"], standalone_mode=False)

    assert result.exception is not None
    assert list(tmp_path.iterdir()) == []
