"""Virtual environments in the user's cache folder, beside that of the checkout: other versions of a library, the packages of the image."""

import hashlib
import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hack.lib.reference.binaries import cache_folder
from hack.lib.reference.filelock import locked

ROOT: Final = Path(__file__).resolve().parents[2]
_LOCK: Final = ROOT / "manifests" / "requirements.lock"
_PIP: Final = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
_TRIES: Final = ("--retries", "1", "--timeout", "10")
_DONE: Final = "apiext-done"


class InstallationError(Exception):
    """A package cannot be found or installed, usually because the index is unreachable; the message is the end of pip's output."""


def newest(requirement: str) -> str:
    """Return the newest published version of a package within bounds, such as `aiohttp>=3.14,<4`.

    Raises:
        InstallationError: The index is unreachable, or has no such version.
    """
    report = _run([*_PIP, "install", *_TRIES, "--dry-run", "--ignore-installed", "--no-deps", "--report", "-", requirement])
    return str(json.loads(report)["install"][0]["metadata"]["version"])


def with_version(name: str, version: str) -> Path:
    """Return the Python of an environment with the packages of this one, but with a library, and what that requires, in another version.

    Raises:
        InstallationError: The library cannot be installed.
    """
    python = _cached(f"{name}-{version}", [f"{name}=={version}"])
    _add_packages(python, sysconfig.get_path("purelib"))
    return python


def of_image() -> Path:
    """Return the Python of an environment with only the packages of the image.

    Raises:
        InstallationError: The packages cannot be installed.
    """
    return of_lock("image", _LOCK)


def of_lock(name: str, lock: Path, *, interpreter: Path | None = None) -> Path:
    """Return the Python of an environment with only the packages of a lock file, for this Python or another one.

    Raises:
        InstallationError: The packages cannot be installed.
    """
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    return _cached(f"{name}-{digest}", ["--require-hashes", "--requirement", str(lock)], interpreter)


def beside(python: Path, folder: Path) -> Path:
    """Create an empty environment that also has the packages of another one, and return its Python."""
    own = _created(folder)
    _add_packages(own, str(next(python.parents[1].glob("lib/python*/site-packages"))))
    return own


def install(python: Path, *packages: str | Path) -> None:
    """Install packages without an index and without what they require.

    Raises:
        InstallationError: They cannot be installed.
    """
    _run([*_PIP, "--python", str(python), "install", "--no-deps", "--no-index", *map(str, packages)])


def _cached(name: str, arguments: Sequence[str], interpreter: Path | None = None) -> Path:
    base = str(interpreter or sys.executable)
    tag = _run([base, "-c", "import sys; print(sys.implementation.cache_tag)"]).strip() if interpreter else sys.implementation.cache_tag
    folder = cache_folder() / "environments" / f"{name}-{tag}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    python = folder / "bin" / "python"
    with locked(folder.with_suffix(".lock"), lambda: None):
        if not (folder / _DONE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            _created(folder, base)
            _run([*_PIP, "--python", str(python), "install", *_TRIES, "--no-compile", *arguments])
            (folder / _DONE).touch()
    return python


def _created(folder: Path, base: str = sys.executable) -> Path:
    _run([base, "-m", "venv", "--without-pip", str(folder)])
    return folder / "bin" / "python"


def _add_packages(python: Path, site_packages: str) -> None:
    """Append a folder to those in which an environment looks for packages."""
    (own,) = python.parents[1].glob("lib/python*/site-packages")
    (own / "apiext-packages.pth").write_text(f"{site_packages}\n")


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallationError(" / ".join(done.stderr.splitlines()[-3:]))
    return done.stdout
