"""Finds the Pythons of this machine: those on the PATH, and those of pyenv."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path


def find(version: str) -> Path | None:
    """Return a Python of a version such as `3.12` that runs, with its module venv; None if there is none."""
    test = f"import sys, venv; sys.exit(sys.version_info[:2] != {tuple(map(int, version.split('.')))})"
    return next((path for path in _candidates(version) if _succeeds(path, test)), None)


def _candidates(version: str) -> Iterator[Path]:
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(root.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)


def _succeeds(python: Path, program: str) -> bool:
    try:
        return subprocess.run([python, "-c", program], capture_output=True, check=False).returncode == 0
    except OSError:
        return False
