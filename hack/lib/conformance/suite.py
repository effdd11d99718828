"""Builds the reference's own integration suite to test a server in another process.

`provide` copies the pinned module from Go's module cache to a folder of the user's cache, replaces the fixture that starts
the reference inside the test with ours, and builds both test packages there. None of it is committed.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.lib.reference import binaries, golang
from hack.lib.reference.filelock import locked
from hack.lib.reference.golang import Progress

FIXTURE: Final = Path(__file__).resolve().parents[3] / "tests" / "conformance" / "fixtures" / "server.go"
_MODULE: Final = "k8s.io/apiextensions-apiserver"
_INTEGRATION: Final = "test/integration"
_PACKAGES: Final = (_INTEGRATION, f"{_INTEGRATION}/conversion")
_TEST: Final = re.compile(r"^func (Test\w+)\(\w+ \*testing\.T\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SuiteTest:
    """One top-level test."""

    name: str
    file: str  # relative to test/integration
    binary: Path
    folder: Path  # its working directory


@dataclass(frozen=True, slots=True)
class Suite:
    """The built suite, in a folder that is named after the hash of its sources."""

    folder: Path

    def tests(self) -> tuple[SuiteTest, ...]:
        """Return all top-level tests in the order of the files and of the tests within a file."""
        found = []
        for package in _PACKAGES:
            folder = self.folder / "module" / package
            for file in sorted(folder.glob("*_test.go")):
                name = str(file.relative_to(self.folder / "module" / _INTEGRATION))
                tests = _TEST.findall(file.read_text())
                found += [SuiteTest(test, name, self.folder / _binary(package), folder) for test in tests]
        return tuple(found)


def provide(*, progress: Progress = lambda _line: None) -> Suite:
    """Return the suite; build it first if it is missing, which takes minutes. Several processes may call it at once.

    Raises:
        ProvideError: There is no toolchain, a module cannot be downloaded, or the build fails.
    """
    suite = Suite(binaries.cache_folder() / "suite" / _digest())
    if _built(suite):
        return suite
    suite.folder.mkdir(parents=True, exist_ok=True)
    with locked(suite.folder / "lock", lambda: progress("another process is building the suite; waiting for it")):
        if not _built(suite):
            try:
                _build(suite.folder, progress)
            except golang.BuildError as error:
                raise binaries.ProvideError(f"{_MODULE}/{_INTEGRATION}: {error}") from error
    return suite


def _built(suite: Suite) -> bool:
    return all((suite.folder / _binary(package)).is_file() for package in _PACKAGES)


def _binary(package: str) -> str:
    return f"{Path(package).name}.test"


def _digest() -> str:
    sources = (FIXTURE, binaries.MODULE / "go.mod", binaries.MODULE / "go.sum")
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def _build(folder: Path, progress: Progress) -> None:
    go = golang.toolchain(binaries.MODULE, binaries.cache_folder(), progress)
    module = folder / "module"
    _copy(_downloaded(go, folder, progress), module)
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(binaries.MODULE / name, folder / name)
    replace: list[str | Path] = [go, "mod", "edit", f"-replace={_MODULE}={module}", folder / "go.mod"]
    golang.execute(replace, "conformance suite: own copy", cwd=folder, log=folder / "edit.log", progress=progress)
    output = folder / "built"
    output.mkdir(exist_ok=True)
    # -mod=mod adds the modules that only the tests import to this copy of go.mod.
    flags = ["-mod=mod", f"-modfile={folder / 'go.mod'}", "-trimpath", "-ldflags=-s -w"]
    packages = [f"{_MODULE}/{package}" for package in _PACKAGES]
    command: list[str | Path] = [go, "test", "-c", *flags, "-o", f"{output}/", *packages]
    golang.execute(command, "conformance suite: building", cwd=binaries.MODULE, log=folder / "build.log", progress=progress)
    for package in _PACKAGES:
        (output / _binary(package)).replace(folder / _binary(package))


def _downloaded(go: Path, folder: Path, progress: Progress) -> Path:
    """Return the folder of the module in Go's module cache."""
    log = folder / "download.log"
    version = binaries.pinned(_MODULE)
    command: list[str | Path] = [go, "mod", "download", "-json", f"{_MODULE}@v{version}"]
    golang.execute(command, f"{_MODULE}: v{version}", cwd=binaries.MODULE, log=log, progress=progress)
    text = log.read_text()
    answer: Mapping[str, str] = json.loads(text[text.index("{") :])
    return Path(answer["Dir"])


def _copy(source: Path, target: Path) -> None:
    """Copy the module, make the copy writable and replace the fixture."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for folder in (target, *(path for path in target.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    shutil.copyfile(FIXTURE, target / _INTEGRATION / "fixtures" / "server.go")
