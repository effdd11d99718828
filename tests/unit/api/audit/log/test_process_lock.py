"""A log that several processes write."""

import os
import threading
from pathlib import Path

from apiext.api.audit.log.output import ProcessLock, StandardOutput
from apiext.api.audit.log.rotation import LogLocks, RotatedFile, RotationLimits


def test_several_processes_rotate_one_log(tmp_path: Path) -> None:
    """Notice when another process has rotated the log, or written to it: all lines remain, and no file is too large."""
    descriptors = [os.memfd_create(name) for name in ("writing", "backups")]
    locks = [LogLocks(*map(ProcessLock, descriptors)) for _ in range(2)]
    limits = RotationLimits(max_size=1, max_age=0, max_backups=0)
    first, second = (RotatedFile(tmp_path / "log", limits, one) for one in locks)
    line = b"x" * 300_000 + b"\n"

    for turn in range(8):
        (first if turn % 3 else second).write(line)
    (tmp_path / "log").unlink()
    second.write(line)
    first.write(line)

    for output in (first, second):
        output.close()
    for descriptor in (*descriptors, *(lock.descriptor for pair in locks for lock in pair)):
        os.close(descriptor)
    sizes = {path.name: path.stat().st_size // len(line) for path in tmp_path.iterdir()}
    assert sizes.pop("log") == 2
    assert sorted(sizes.values()) == [3, 3]


def test_standard_output(tmp_path: Path) -> None:
    """Wait until another process has written its lines."""
    descriptor = os.memfd_create("writing")
    lock, other = ProcessLock(descriptor), ProcessLock(descriptor)
    with (tmp_path / "out").open("wb") as file:
        writer = threading.Thread(target=StandardOutput(file.fileno(), lock=lock).write, args=(b"second\n",))
        with other.held():
            writer.start()
            os.write(file.fileno(), b"first\n")
        writer.join()
    for one in (descriptor, lock.descriptor, other.descriptor):
        os.close(one)

    assert (tmp_path / "out").read_bytes() == b"first\nsecond\n"


def test_full_pipe() -> None:
    """Wait for room in a pipe that a process has set not to wait."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    lines = b"x" * 1000 * 1000 + b"\n"
    thread = threading.Thread(target=StandardOutput(writer).write, args=(lines,))
    thread.start()
    with os.fdopen(reader, "rb") as found:
        assert found.read(len(lines)) == lines
    thread.join()
    os.close(writer)
