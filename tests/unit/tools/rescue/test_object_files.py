"""Copies of stored objects in files."""

import dataclasses
from pathlib import Path

import pytest

from apiext.resources.stored_objects.interface import RescueError
from apiext.storage.stored_object import UnreadableObject
from apiext.tools.rescue.object_files import export
from apiext.tools.rescue.rescue import Case
from tests.support.builders.crds import definition, widget_crd


def _case(key: str, data: bytes = b"x") -> Case:
    return Case(definition(widget_crd()), UnreadableObject(key, 1, len(data), "", ""), data, [])


def test_writes_private_files(tmp_path: Path) -> None:
    """Write the bytes unchanged to a file that only its owner can read; once."""
    path = export(_case("default/a", b"\xff\x00"), str(tmp_path))

    assert path == tmp_path / "widgets.example.com" / "default" / "a"
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\xff\x00", 0o600)
    assert export(_case("default/a", b"\xff\x00"), str(tmp_path)) == path
    with pytest.raises(RescueError, match="exists with another content"):
        export(_case("default/a"), str(tmp_path))


@pytest.mark.parametrize("key", ["../../a", "..", ".", "/a", "a//b", "x\x1b\n", "\ud83d\ude00" * 3])
def test_stays_in_the_folder(tmp_path: Path, key: str) -> None:
    """Write below the folder, whatever the key is."""
    path = export(_case(key.encode("utf-16", "surrogatepass").decode("utf-16")), str(tmp_path / "out"))

    assert path.resolve().is_relative_to((tmp_path / "out" / "widgets.example.com").resolve())
    assert path.is_file()


def test_reports_what_cannot_be_written(tmp_path: Path) -> None:
    """Report a folder that is a file, and names that are too long."""
    (tmp_path / "file").write_text("")
    for case, folder in ((_case("a"), tmp_path / "file"), (dataclasses.replace(_case("a" * 300)), tmp_path)):
        with pytest.raises(RescueError, match="cannot write"):
            export(case, str(folder))
