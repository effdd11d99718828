"""Fills a small disk with a SQLite store, and makes room again; its first argument is the folder to mount the disk at.

Runs in a mount namespace of its own. Prints what happened as JSON.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from apiext.storage.backend import UnavailableError
from apiext.storage.sqlite.backend import SQLiteBackend
from tests.contract.sqlite_files import PREFIX

_DISK = "4m"
_FILLER = 1024 * 1024
_VALUE = bytes(64 * 1024)
_MOST = 200
"""Values that fit into no disk of this size."""


async def fill(folder: Path) -> dict[str, object]:
    """Write until the disk is full, delete another file, write again, and return what happened."""
    filler = folder / "filler"
    filler.write_bytes(bytes(_FILLER))
    backend = await SQLiteBackend.open(folder / "store.db")
    written, problem = [], ""
    for number in range(_MOST):
        try:
            await backend.create(f"{PREFIX}{number}", _VALUE)
        except UnavailableError as error:
            problem = str(error)
            break
        written.append(f"{PREFIX}{number}")
    found = [pair.key for pair in (await backend.list(PREFIX)).items]
    filler.unlink()
    again = await backend.create(f"{PREFIX}again", b"{}")
    await backend.close()
    reopened = await SQLiteBackend.open(folder / "store.db")
    kept = [pair.key for pair in (await reopened.list(PREFIX)).items]
    await reopened.close()
    return {
        "problem": problem,
        "written": len(written),
        "found": sorted(found) == sorted(written),
        "again": again.succeeded,
        "kept": sorted(kept) == sorted([*written, f"{PREFIX}again"]),
    }


def main(folder: Path) -> None:
    """Mount the disk and fill it."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "none", folder], check=True)
    sys.stdout.write(json.dumps(asyncio.run(fill(folder))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
