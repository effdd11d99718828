"""Makes the virtual environment of the checkout from the hash-pinned lock; standard library only.

`python venv.py ROOT` prints the path of its Python. The environment is ROOT/.venv, or `APIEXT_VENV`. One that exists is
kept and only brought to the lock's state; a stamp in it says which lock it has, so that the next call costs nothing.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

LOCK = "requirements-dev.lock"
STAMP = "apiext-lock"


class VenvError(Exception):
    """The environment cannot be made; the message is one line that says why."""


def main(root: Path) -> Path:
    """Bring the environment of the checkout up to date and return its Python.

    Raises:
        VenvError: the environment or a package cannot be had.
    """
    folder = Path(os.environ.get("APIEXT_VENV") or root / ".venv")
    python = folder / "bin" / "python"
    stamp = folder / STAMP
    state = _state(root)
    if _is(stamp, state) and python.exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is(stamp, state) or not python.exists():
            _make(root, folder, python)
            stamp.write_text(state)
    return python


def _state(root: Path) -> str:
    """What the environment depends on: the lock and where the checkout is."""
    return f"{hashlib.sha256((root / LOCK).read_bytes()).hexdigest()} {root}\n"


def _is(stamp: Path, state: str) -> bool:
    try:
        return stamp.read_text() == state
    except OSError:
        return False


def _make(root: Path, folder: Path, python: Path) -> None:
    if not _usable(python):
        _say(f"making a virtual environment in {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", folder])
    _say(f"installing what {LOCK} lists (a minute or so)")
    pip: list[str | Path] = [python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    _run([*pip, "--require-hashes", "--requirement", root / LOCK])
    _run([*pip, "--no-deps", "--no-build-isolation", "--editable", root])


def _usable(python: Path) -> bool:
    """Whether there is an environment with a Python that is new enough and a pip."""
    test = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([python, "-c", test], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _run(command: list[str | Path]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise VenvError(f"{Path(command[0]).name} failed: {' / '.join(lines[-3:])}")


def _say(line: str) -> None:
    print(f"hack/venv: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        print(main(Path(sys.argv[1])))
    except (VenvError, OSError) as problem:
        print(f"hack/venv: {problem}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
