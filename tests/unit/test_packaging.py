"""Dependencies, their locks, and the content of the image."""

import ast
import fnmatch
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

ROOT: Final = Path(__file__).resolve().parents[2]
CONTAINERFILE: Final = ROOT / "manifests" / "Containerfile"
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_PINNED: Final = re.compile(r"^([\w.-]+)==(\S+)(.*(?:\n .*)*)", re.MULTILINE)

_REQUIREMENTS: Final = [Requirement(text) for text in [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]]
_MODULES: Final = {"google-re2": "re2", "prometheus-client": "prometheus_client", "protobuf": "google", "pynacl": "nacl", "pyyaml": "yaml"}
"""Imported names that differ from the names of their packages."""
_NOT_IMPORTED: Final = {
    "aetcd": "apiext.storage.etcd.aetcd_messages loads its modules by path",
    "google": "aetcd's messages are generated for it",
    "multidict": "holds the headers of requests",
    "yarl": "holds the URLs of requests",
}
"""Libraries whose objects or modules apiext uses without an import statement."""
_EXTRAS: Final = {"grpc", "hypothesis", "opentelemetry", "pytest"}
"""Imported libraries that only an extra of the package installs, or that import the package themselves."""

Pins = dict[str, tuple[str, frozenset[str]]]
"""Versions and hashes by name."""


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[ <>=!~;\[]", text, maxsplit=1)[0]).lower()


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def _lock(path: str) -> Pins:
    found = _PINNED.findall((ROOT / path).read_text())
    return {_name(name): (version, frozenset(re.findall(r"--hash=sha256:(\w{64})", rest))) for name, version, rest in found}


def _instructions() -> Iterator[list[str]]:
    text = re.sub(r"\\\n", " ", CONTAINERFILE.read_text())
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield line.split()


@pytest.mark.parametrize("requirement", _REQUIREMENTS, ids=str)
def test_bounds_every_dependency(requirement: Requirement) -> None:
    """Declare a floor and a ceiling for each dependency, and lock a version between them."""
    operators = sorted(one.operator for one in requirement.specifier)

    assert operators == ["<", ">="]
    assert _lock("requirements-dev.lock")[_name(requirement.name)][0] in requirement.specifier


def test_declares_every_imported_library() -> None:
    """Declare each library that apiext imports, and no other one without a reason."""
    declared = {_MODULES.get(name := _name(text), name.replace("-", "_")) for text in PROJECT["dependencies"]}
    imported = {name for path in (ROOT / "apiext").rglob("*.py") for name in _imports(path)} - sys.stdlib_module_names - {"apiext"}

    assert imported - _EXTRAS <= declared
    assert declared - imported <= _NOT_IMPORTED.keys()


def test_registers_the_pytest_plugin() -> None:
    """Name a module of hooks as the entry point of pytest."""
    (module,) = PROJECT["entry-points"]["pytest11"].values()

    assert hasattr(importlib.import_module(module), "pytest_addoption")


@pytest.mark.parametrize("lock", ["manifests/requirements.lock", "manifests/requirements-build.lock"])
def test_installs_tested_versions_in_the_image(lock: str) -> None:
    """Pin the packages of the image by hash, in the versions of the tests, without an index."""
    tested, pinned = _lock("requirements-dev.lock"), _lock(lock)

    assert pinned
    assert {name: pin for name, pin in pinned.items() if tested.get(name) != pin or not pin[1]} == {}
    assert not re.search(r"://|--(extra-)?index-url|--find-links", (ROOT / lock).read_text())


def test_locks_runtime_and_tracing_dependencies() -> None:
    """Lock every dependency of apiext and of its extras tracing and kms for the image, and no development dependency."""
    pinned = _lock("manifests/requirements.lock").keys()
    extras = PROJECT["optional-dependencies"]

    assert {_name(one) for one in [*PROJECT["dependencies"], *extras["tracing"], *extras["kms"]]} <= pinned
    assert {_name(one) for one in extras["dev"]} & pinned == set()


def test_copies_only_existing_files_into_the_image() -> None:
    """Copy only files that exist in the checkout; `.dockerignore` admits these files and no others."""
    sources = [part for name, *parts in _instructions() if name == "COPY" and "--from=build" not in parts for part in parts[:-1]]
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}

    assert sources
    assert all((ROOT / source).exists() for source in sources)
    assert {source.rstrip("/") for source in sources} == allowed
    assert "*" in lines
    assert any(fnmatch.fnmatch("apiext/__pycache__", line) for line in lines[1:])


def test_runs_the_image_without_root() -> None:
    """Run `apiext` as a numeric user other than root, and install only wheels that are pinned by hash."""
    steps = list(_instructions())
    last = steps[max(place for place, step in enumerate(steps) if step[0] == "FROM") :]
    installs = [" ".join(step) for step in steps if step[0] == "RUN" and "install" in step]

    assert [step[1] for step in last if step[0] == "USER"] == ["65532:65532"]
    assert [step[1:] for step in last if step[0] == "ENTRYPOINT"] == [['["apiext"]']]
    assert [step for step in last if step[0] == "RUN"] == []
    assert all("--require-hashes --only-binary=:all:" in step or "--no-deps --no-index" in step for step in installs)
