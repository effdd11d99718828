"""What goes into the image: locked packages, the checkout's package, and nothing else."""

import fnmatch
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
CONTAINERFILE: Final = ROOT / "manifests" / "Containerfile"
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_PINNED: Final = re.compile(r"^([\w.-]+)==(\S+)(.*(?:\n .*)*)", re.MULTILINE)

Pins = dict[str, tuple[str, frozenset[str]]]
"""Versions and hashes by name."""

WITHOUT_DEV: Final = """
import sys

class Fence:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ImportError(f"{{name}} is only for development")

sys.meta_path.insert(0, Fence())
from apiext.cli.main import main
main()
"""
"""Runs the command as if only the packages of the image were there."""


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[ <>=!~;\[]", text, maxsplit=1)[0]).lower()


def _lock(path: str) -> Pins:
    found = _PINNED.findall((ROOT / path).read_text())
    return {_name(name): (version, frozenset(re.findall(r"--hash=sha256:(\w{64})", rest))) for name, version, rest in found}


def _instructions() -> Iterator[list[str]]:
    text = re.sub(r"\\\n", " ", CONTAINERFILE.read_text())
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield line.split()


def _dev_modules() -> set[str]:
    """Top-level modules that only packages outside of the image's lock bring."""
    locked = _lock("manifests/requirements.lock").keys() | {"apiext", "pip", "setuptools"}
    within: set[str] = set()
    outside: set[str] = set()
    for distribution in distributions():
        tops = {Path(str(file)).parts[0].partition(".")[0] for file in distribution.files or () if str(file).endswith((".py", ".so"))}
        (within if _name(distribution.metadata["Name"]) in locked else outside).update(tops)
    return outside - within - {"..", "__pycache__", "apiext", "_editable_impl_apiext"}


@pytest.mark.parametrize("lock", ["manifests/requirements.lock", "manifests/requirements-build.lock"])
def test_the_image_has_what_is_tested(lock: str) -> None:
    """Packages of the image are pinned by hash, in the versions of the tests, and no lock names where they come from."""
    tested, pinned = _lock("requirements-dev.lock"), _lock(lock)

    assert pinned
    assert {name: pin for name, pin in pinned.items() if tested.get(name) != pin or not pin[1]} == {}
    assert not re.search(r"://|--(extra-)?index-url|--find-links", (ROOT / lock).read_text())


def test_the_lock_is_complete() -> None:
    """All that apiext and its tracing depend on is in the lock, and nothing that only developers need."""
    pinned = _lock("manifests/requirements.lock").keys()
    extras = PROJECT["optional-dependencies"]

    assert {_name(one) for one in [*PROJECT["dependencies"], *extras["tracing"]]} <= pinned
    assert {_name(one) for one in extras["dev"]} & pinned == set()


def test_what_is_copied_is_there_and_not_ignored() -> None:
    """Each file that the image is built from is in the checkout, and let through to the builder; nothing else is."""
    sources = [part for name, *parts in _instructions() if name == "COPY" and "--from=build" not in parts for part in parts[:-1]]
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}

    assert sources
    assert all((ROOT / source).exists() for source in sources)
    assert {source.rstrip("/") for source in sources} == allowed
    assert "*" in lines
    assert any(fnmatch.fnmatch("apiext/__pycache__", line) for line in lines[1:])


def test_the_image_is_nobodys_in_particular() -> None:
    """Its last stage runs as a number that is not root, begins with `apiext`, and installs by hash and wheels only."""
    steps = list(_instructions())
    last = steps[max(place for place, step in enumerate(steps) if step[0] == "FROM") :]
    installs = [" ".join(step) for step in steps if step[0] == "RUN" and "install" in step]

    assert [step[1] for step in last if step[0] == "USER"] == ["65532:65532"]
    assert [step[1:] for step in last if step[0] == "ENTRYPOINT"] == [['["apiext"]']]
    assert [step for step in last if step[0] == "RUN"] == []
    assert all("--require-hashes --only-binary=:all:" in step or "--no-deps --no-index" in step for step in installs)


@pytest.mark.slow
def test_the_wheel_runs_without_what_developers_need(tmp_path: Path) -> None:
    """The wheel is built as the image builds it, and its commands start with nothing but the packages of the image."""
    wheels, site = tmp_path / "wheels", tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, ROOT], check=True, cwd=tmp_path)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", site, wheel], check=True, cwd=tmp_path)
    modules = _dev_modules()
    assert {"pytest", "mypy", "hypothesis", "hatchling"} <= modules

    for command in ("version", "serve --help", "operate --help"):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_DEV.format(modules=modules), *command.split()],
            env={"PYTHONPATH": str(site)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
