"""The log file that is rotated by size."""

import gzip
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from apiext.api.audit.log.output import PartialWriteError
from apiext.api.audit.log.rotation import RotatedFile, RotationLimits

MEGABYTE = 1024 * 1024


def test_rotation(tmp_path: Path) -> None:
    """Rotate a file before a line for which it has no room; keep its mode and the newest backups."""
    path = tmp_path / "logs" / "audit.log"
    output = RotatedFile(path, RotationLimits(max_size=1, max_backups=2, compress=True))
    line = b"x" * (MEGABYTE // 2 - 1) + b"\n"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    for old in ("2020-01-01T00-00-00.000", "2020-01-01T00-00-01.000"):
        (path.parent / f"audit-{old}.log").write_bytes(b"old")
    (path.parent / "audit-other.log").write_bytes(b"kept")
    for number in range(3):
        output.write(line * (number + 1))
    output.close()
    for thread in [each for each in threading.enumerate() if each.name == "audit-backups"]:
        thread.join()
    backups = sorted(each.name for each in path.parent.iterdir() if each != path)

    assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_bytes() == line * 2
    assert len(backups) == 3
    assert backups[-1] == "audit-other.log"
    for name in backups[:-1]:
        assert name.endswith(".log.gz")
        assert gzip.decompress((path.parent / name).read_bytes()) == line * 2
    with pytest.raises(OSError, match="exceeds maximum file size 1048576"):
        output.write(b"x" * MEGABYTE + b"\n")


class _Stopped(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "_Stopped":
        return cls(2026, 1, 1, tzinfo=tz)


def test_rotations_at_one_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rename no file to the name of another backup."""
    monkeypatch.setattr("apiext.api.audit.log.rotation.datetime", _Stopped)
    output = RotatedFile(tmp_path / "log", RotationLimits(max_size=1, max_age=0, max_backups=0))
    line = b"x" * (MEGABYTE - 2) + b"\n"
    output.write(line * 3)
    output.close()

    names = ["log", "log-2026-01-01T00-00-00.000", "log-2026-01-01T00-00-00.001"]
    assert [(each.name, each.stat().st_size) for each in sorted(tmp_path.iterdir())] == [(name, len(line)) for name in names]


@contextmanager
def _full_after(size: int) -> Iterator[None]:
    """Let the disk take so many bytes, and no more."""
    write, left = os.write, [size]

    def full(descriptor: int, data: memoryview) -> int:
        if not left[0]:
            raise OSError("disk full")
        taken = write(descriptor, data[: left[0]])
        left[0] -= taken
        return taken

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apiext.api.audit.log.output.os.write", full)
        yield


def test_part_of_a_write(tmp_path: Path) -> None:
    """Count the bytes that a full disk has taken to the size of the file."""
    output = RotatedFile(tmp_path / "log", RotationLimits(max_size=1, max_age=0, max_backups=0))
    output.write(b"first\n")
    line = b"x" * (MEGABYTE // 2) + b"\n"
    with _full_after(MEGABYTE // 2), pytest.raises(PartialWriteError, match="disk full") as caught:
        output.write(line)
    output.write(line)
    output.close()

    assert caught.value.written == MEGABYTE // 2
    assert sorted(each.stat().st_size for each in tmp_path.iterdir()) == [len(line), len(b"first\n") + MEGABYTE // 2]


def test_torn_line(tmp_path: Path) -> None:
    """Begin a line of its own after a line of which a part was written, also by an earlier process."""
    limits = RotationLimits(max_age=0, max_backups=0)
    for torn, before in ((b"one\ntw", 0), (b"thr", 1)):
        output = RotatedFile(tmp_path / "log", limits)
        with _full_after(before + len(torn)), pytest.raises(PartialWriteError) as caught:
            output.write(torn + b"...\n")
        assert caught.value.written == len(torn)
        output.close()
    output = RotatedFile(tmp_path / "log", limits)
    with _full_after(0), pytest.raises(PartialWriteError):
        output.write(b"lost\n")
    output.write(b"four\n")
    output.write(b"five\n")
    output.close()

    assert (tmp_path / "log").read_bytes() == b"one\ntw\nthr\nfour\nfive\n"


def test_quick_outputs(tmp_path: Path) -> None:
    """Let the event loop write files only: a pipe may wait for its reader."""
    os.mkfifo(tmp_path / "pipe")

    assert RotatedFile(tmp_path / "log", RotationLimits()).is_quick
    assert not RotatedFile(tmp_path / "pipe", RotationLimits()).is_quick


def test_pipe_without_a_reader(tmp_path: Path) -> None:
    """Lose lines that nobody will read, instead of waiting."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    output = RotatedFile(path, RotationLimits(max_size=0))
    output.write(b"one\n")
    assert os.read(reader, 100) == b"one\n"
    os.close(reader)
    with pytest.raises(PartialWriteError, match="Broken pipe"):
        output.write(b"two\n")
    output.close()


def test_old_backups(tmp_path: Path) -> None:
    """Delete backups by their age, and append to a file of an earlier run."""
    path = tmp_path / "audit.log"
    path.write_bytes(b"first\n")
    old = tmp_path / "audit-2020-01-01T00-00-00.000.log.gz"
    old.write_bytes(b"")
    output = RotatedFile(path, RotationLimits(max_age=1, max_backups=0))
    output.write(b"second\n")
    for thread in [each for each in threading.enumerate() if each.name == "audit-backups"]:
        thread.join()
    output.close()

    assert path.read_bytes() == b"first\nsecond\n"
    assert not old.exists()


def test_without_rotation(tmp_path: Path) -> None:
    """Write lines of any size without a limit."""
    output = RotatedFile(tmp_path / "log", RotationLimits(max_size=0))
    output.write((b"x" * MEGABYTE + b"\n") * 2)
    output.close()

    assert [each.name for each in tmp_path.iterdir()] == ["log"]
