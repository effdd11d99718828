"""Files that are whole or not there: written aside, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_file(path: Path, text: str, *, mode: int) -> None:
    """Write a file at once, with its mode; whoever reads it sees all of it, or the old one. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)  # noqa: PTH105 -- the name is what mkstemp gave
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108 -- the name is what mkstemp gave
        raise


def read_file(path: Path) -> str:
    """The text of a file, empty where there is none. Raises OSError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
