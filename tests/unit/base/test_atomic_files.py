"""Folders for keys, and whole files."""

import os
import stat
from pathlib import Path

import pytest

from apiext.base.atomic_files import make_private, whole_file


def test_creates_folders_for_the_owner(tmp_path: Path) -> None:
    """Create the folder and those above it with mode 0700, whatever the umask; keep those that exist."""
    before = os.umask(0)
    try:
        for _ in range(2):
            make_private(tmp_path / "a" / "b" / "pki")
    finally:
        os.umask(before)

    for folder in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "pki"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702, 0o2772])
def test_refuses_what_others_may_write(tmp_path: Path, mode: int) -> None:
    """Refuse a folder in which other users may replace keys, and name its mode."""
    folder = tmp_path / "pki"
    folder.mkdir()
    folder.chmod(mode)

    with pytest.raises(PermissionError, match=f"its mode is {mode:04o}"):
        make_private(folder)


@pytest.mark.parametrize("mode", [0o500, 0o755, 0o2770])
def test_accepts_what_only_the_process_may_write(tmp_path: Path, mode: int) -> None:
    """Accept folders that others may read, and those of a volume that a group of this process may write."""
    folder = tmp_path / "pki"
    folder.mkdir()
    folder.chmod(mode)

    make_private(folder)


def test_refuses_other_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a folder that a group without this process may write."""
    folder = tmp_path / "pki"
    folder.mkdir()
    folder.chmod(0o770)
    monkeypatch.setattr(os, "getegid", lambda: 12345)
    monkeypatch.setattr(os, "getgroups", list)

    with pytest.raises(PermissionError, match="its mode is 0770"):
        make_private(folder)


def test_refuses_files(tmp_path: Path) -> None:
    """Refuse a file in place of the folder or of one above it."""
    (tmp_path / "file").touch()

    for folder in (tmp_path / "file", tmp_path / "file" / "pki"):
        with pytest.raises(OSError, match="Not a directory"):
            make_private(folder)


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """Give a file its name when the block ends; leave nothing of a block that fails, and never replace a file unless that is wanted."""
    path = tmp_path / "a"
    with pytest.raises(ZeroDivisionError), whole_file(path) as file:
        file.write(b"part" * (1 // 0))
    assert list(tmp_path.iterdir()) == []
    with whole_file(path, mode=0o640) as file:
        file.write(b"first")
        assert not path.exists()
    with pytest.raises(FileExistsError), whole_file(path, replace=False) as file:
        file.write(b"second")

    assert [(one.name, one.read_bytes(), stat.S_IMODE(one.stat().st_mode)) for one in tmp_path.iterdir()] == [("a", b"first", 0o640)]
