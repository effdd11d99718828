"""Creates the virtual environment of the checkout from a hash-pinned lock; standard library only.

`python venv.py ROOT [--runtime]` prints the path of its Python. The environment is ROOT/.venv, or `APIEXT_VENV`. With
`--runtime` it has the runtime dependencies of `apiext` (the lock of the image), else also all development tools; a call
without `--runtime` adds them to an existing environment. A stamp in the environment names its lock and the declared
commands, so that the next call installs nothing.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

LOCK = "requirements-dev.lock"
RUNTIME_LOCK = "manifests/requirements.lock"
STAMP = "apiext-lock"
_PTH = "apiext-checkout.pth"
"""File in site-packages that puts the checkout on sys.path, as an editable installation does, without a build tool."""


class VenvError(Exception):
    """The environment cannot be created; the message is one line with the reason."""


def main(root: Path, *, runtime: bool = False) -> Path:
    """Bring the environment of the checkout up to date and return its Python.

    Raises:
        VenvError: The environment cannot be created, or a package cannot be installed.
    """
    folder = Path(os.environ.get("APIEXT_VENV") or root / ".venv")
    python = folder / "bin" / "python"
    stamp = folder / STAMP
    lock = RUNTIME_LOCK if runtime else LOCK
    sufficient = {_state(root, LOCK), _state(root, lock)}
    if _stamped(stamp) in sufficient and python.exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if _stamped(stamp) not in sufficient or not python.exists():
            _make(root, folder, python, lock)
            stamp.write_text(_state(root, lock))
    return python


def _state(root: Path, lock: str) -> str:
    """Return the inputs of the environment: the lock, the commands and plug-ins that the checkout declares, and its folder."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    declared = json.dumps([project.get("scripts"), project.get("entry-points")], sort_keys=True)
    return f"{hashlib.sha256((root / lock).read_bytes() + declared.encode()).hexdigest()} {root}\n"


def _stamped(stamp: Path) -> str:
    try:
        return stamp.read_text()
    except OSError:
        return ""


def _make(root: Path, folder: Path, python: Path, lock: str) -> None:
    if not _usable(python):
        _say(f"creating a virtual environment in {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", folder])
    _say(f"installing the packages of {lock} (half a minute with a fast network)")
    # Python compiles a module at its first import, and apiext imports few modules of `kubernetes`.
    pip: list[str | Path] = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
    _run(
        [*pip, "--require-hashes", "--requirement", root / lock],
        packages=len(re.findall(r"^\S+==", (root / lock).read_text(), re.MULTILINE)),
    )
    if lock == RUNTIME_LOCK:
        _link_checkout(root, folder, python)
        return
    for path in folder.glob(f"lib/python*/site-packages/{_PTH}"):
        path.unlink()
    _run([*pip, "--no-deps", "--no-build-isolation", "--editable", root])


def _link_checkout(root: Path, folder: Path, python: Path) -> None:
    """Make `apiext` importable and write its command."""
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / _PTH).write_text(f"{root}\n")
    command = folder / "bin" / "apiext"
    command.write_text(f"#!{python}\nimport sys\n\nfrom apiext.cli.main import main\n\nsys.exit(main())\n")
    command.chmod(0o755)


def _usable(python: Path) -> bool:
    """Report whether the environment has pip and a Python that apiext runs on."""
    test = "import sys, pip; sys.exit(not (3, 11) <= sys.version_info < (3, 15))"
    try:
        return subprocess.run([python, "-c", test], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _run(command: list[str | Path], *, packages: int = 0) -> None:
    """Run a command. Show which of so many packages pip gets, if any."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    lines: list[str] = []
    count = 0
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            lines.append(line.strip())
            if packages and line.startswith("Collecting "):
                count += 1
                _say(f"package {count} of {packages}: {line.split()[1]}", passing=True)
            elif packages and line.startswith("Installing collected packages"):
                _say(f"unpacking {packages} packages")
    if process.returncode:
        raise VenvError(f"{Path(command[0]).name} failed: {' / '.join([line for line in lines if line][-3:])}")


def _say(line: str, *, passing: bool = False) -> None:
    """Print a line. The next line replaces a `passing` one on a terminal; elsewhere it is left out."""
    if sys.stderr.isatty():
        print(f"\r\033[Khack/venv: {line}", end="" if passing else "\n", file=sys.stderr, flush=True)
    elif not passing:
        print(f"hack/venv: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        print(main(Path(sys.argv[1]), runtime="--runtime" in sys.argv[2:]))
    except (VenvError, OSError) as problem:
        _say(str(problem))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
