"""The steps of manifests/Containerfile in a clean folder, and the document of what the image contains."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.lib import environments
from hack.lib.sbom import sbom

ROOT: Final = Path(__file__).resolve().parents[2]
CONTAINERFILE: Final = ROOT / "manifests" / "Containerfile"
LOCK: Final = ROOT / "manifests" / "requirements.lock"
pytestmark = [pytest.mark.slow, pytest.mark.long("manifests/Containerfile", ".dockerignore", "pyproject.toml", "hack/lib/sbom.py")]


def _instructions() -> Iterator[tuple[str, str]]:
    for line in re.sub(r"\\\n", " ", CONTAINERFILE.read_text()).splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            yield name, " ".join(rest.split())


class Image:
    """The stages of a build below a folder, which stands for the root of their file systems."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._work = root
        self._environment: dict[str, str] = {}
        self._bin = root / "python" / "bin"
        """The interpreter of the base image, with pip and nothing else."""
        subprocess.run([sys.executable, "-m", "venv", self._bin.parent], check=True)
        _link(environments.of_lock("image-build", LOCK.with_name("requirements-build.lock")), self._bin.parent)
        _link(environments.of_image(), root / "opt" / "apiext")

    def build(self) -> None:
        """Follow the instructions. pip finds the packages of the lock files installed already, from the user's cache folder."""
        for name, rest in _instructions():
            if name == "FROM":
                self._environment = {"PATH": f"{self._bin}:{os.defpath}", "HOME": str(self._root)}
            elif name == "WORKDIR":
                self._work = self._place(rest)
                self._work.mkdir(parents=True, exist_ok=True)
            elif name == "ENV":
                added = dict(pair.split("=", 1) for pair in rest.split())
                added.pop("PIP_NO_CACHE_DIR", None)
                path = self._environment["PATH"]
                self._environment |= {
                    key: value.replace("$PATH", path).replace("/opt", f"{self._root}/opt") for key, value in added.items()
                }
            elif name == "COPY" and "--from=build" not in rest:
                *sources, target = rest.split()
                self._copy(sources, target)
            elif name == "RUN":
                self.run(rest.replace("/opt/apiext", f"{self._root}/opt/apiext"))
            else:
                assert name in {"ARG", "COPY", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}, name

    def run(self, command: str) -> str:
        """Run a command in the working folder of the stage, with its environment only; return its output."""
        environment = self._environment | {"PIP_NO_COMPILE": "1", "PIP_QUIET": "1"}
        done = subprocess.run(["sh", "-c", command], cwd=self._work, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), command
        return done.stdout

    def _copy(self, sources: list[str], target: str) -> None:
        for source in sources:
            if source.endswith("/"):
                shutil.copytree(ROOT / source, self._work / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, self._work / target)

    def _place(self, path: str) -> Path:
        return self._root / path.lstrip("/")


def _link(python: Path, folder: Path) -> None:
    """Link the packages of an environment into one that is to be created."""
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    target = folder / packages.relative_to(python.parents[1])
    shutil.copytree(packages, target, copy_function=os.link, dirs_exist_ok=True)


def test_builds_and_runs_the_image(tmp_path: Path) -> None:
    """Follow the Containerfile, and start the commands of the image with its packages only."""
    try:
        image = Image(tmp_path)
    except environments.InstallationError as error:
        pytest.skip(str(error))

    image.build()

    assert image.run("command -v apiext") == f"{tmp_path}/opt/apiext/bin/apiext\n"
    for command in ("version", "serve --help", "operate --help"):
        assert image.run(f"apiext {command}")
    folders = {path.name.lower() for path in tmp_path.glob("opt/apiext/lib/python*/site-packages/*")}
    assert folders.isdisjoint({"pip", "setuptools", "pytest", "hatchling", "mypy"})


def test_lists_what_the_image_contains() -> None:
    """Print a CycloneDX document of the lock file, with the hash of each package, the same each time."""
    try:
        text = sbom()
    except environments.InstallationError as error:
        pytest.skip(str(error))
    document = json.loads(text)
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK.read_text(), re.MULTILINE))

    assert (document["bomFormat"], document["metadata"]["component"]["name"]) == ("CycloneDX", "apiext")
    assert {found["name"]: found["version"] for found in document["components"]} == locked
    assert all(
        re.fullmatch(r"[0-9a-f]{64}", one["content"])
        for found in document["components"]
        for reference in found["externalReferences"]
        for one in reference.get("hashes", ())
    )
    assert document["serialNumber"].startswith("urn:uuid:")
    assert sbom() == text
