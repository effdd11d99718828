"""Stores on small and on read-only disks, which are mounted in a namespace."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.sqlite_files import PREFIX, opened


async def test_a_read_only_disk(tmp_path: Path) -> None:
    """Back up and count a store on a disk that takes no write, and refuse to serve it in one line; whether its server ended or crashed."""
    store = tmp_path / "disk" / "apiext.db"
    async with opened(store) as backend:
        await backend.create(PREFIX + "configmaps/default/a", b"{}")
        _copy(store, tmp_path / "crashed" / store.name)
    for folder in (store.parent, tmp_path / "crashed"):
        backup = _on_read_only(folder, "backup", str(tmp_path / f"{folder.name}.tar.gz"), f"--data-dir={folder}")
        assert (backup.returncode, "configmaps: 1" in backup.stdout) == (0, True), backup.stderr
        assert _on_read_only(folder, "versions", f"--data-dir={folder}").returncode == 0
        served = _on_read_only(folder, "serve", f"--data-dir={folder}", f"--cert-dir={tmp_path / 'pki'}", "--secure-port=0")
        assert served.stderr == f"apiext: {folder / store.name} cannot be opened: apiext.db.lock: Read-only file system\n"


def test_full_disk(tmp_path: Path) -> None:
    """Fail a write for which the disk has no room, keep all others, and go on when there is room again."""
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*alone, "mount", "-t", "tmpfs", "none", tmp_path], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small disk in a namespace")
    filler = [*alone, sys.executable, "-m", "tests.contract.sqlite_filler", str(tmp_path)]
    done = subprocess.run(filler, capture_output=True, text=True, timeout=120, check=True)
    told = json.loads(done.stdout)

    assert told.pop("written") > 10
    assert told == {"problem": "the store's file: database or disk is full", "found": True, "again": True, "kept": True}


def _on_read_only(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of apiext while a folder is a disk that takes no write."""
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"'
    if subprocess.run([*alone, mount, str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a folder in a namespace")
    command = [*alone, f'{mount} && exec "$@"', str(folder), sys.executable, "-m", "apiext", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def _copy(store: Path, to: Path) -> None:
    to.parent.mkdir()
    for suffix in ("", ".lock", "-wal", "-shm"):
        shutil.copyfile(f"{store}{suffix}", f"{to}{suffix}")
