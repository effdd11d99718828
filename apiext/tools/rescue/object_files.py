"""Copies of stored objects in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from apiext.resources.stored_objects.interface import RescueError

if TYPE_CHECKING:
    from apiext.tools.rescue.rescue import Case


def export(case: Case, folder: str) -> Path:
    """Write the stored bytes of an object, unchanged, to DEFINITION/NAMESPACE/NAME in a folder; return the file.

    Only the owner can read the file. An existing file with the same content stays unchanged.

    Raises:
        RescueError: the file cannot be written, or exists with another content.
    """
    path = Path(folder).expanduser().joinpath(_segment(case.definition.name), *map(_segment, case.object.key.split("/")))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(case.data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        if path.is_file() and path.read_bytes() == case.data:
            return path
        raise RescueError(f"{path} exists with another content") from error
    except OSError as error:
        raise RescueError(f"cannot write {path}: {error.strerror}") from error
    return path


def _segment(name: str) -> str:
    """Return a file name for a part of a key, which may contain any character."""
    safe = quote(name, safe="")
    return safe if safe.strip(".") else safe.replace(".", "%2E") or "%00"
