"""The stories of crds/stories, run as they stand there; the last one is in tests/e2e/test_run_cluster.py."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from hack.lib.environments import ROOT
from hack.lib.reference import binaries, golang
from tests.support.author_repository import apiext_program, with_path
from tests.support.document_commands import section, story

PAGE: Final = "crds/stories/README.md"


def _tell(title: str, folder: Path, scratch: Path, **values: str) -> str:
    """Run the commands of a story in a folder, and return what they print."""
    programs = apiext_program(scratch / "bin")
    environment = with_path(programs, Path(sys.executable).parent) | {"HOME": str(scratch), "APIEXT": str(ROOT)} | values
    text = story(section(PAGE, title)).replace("/tmp/", f"{scratch}/")  # noqa: S108 -- of the page
    done = subprocess.run(["sh", "-euc", text], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [*folder.glob("crds/stories/*/.hypothesis")]
    return done.stdout


def test_rename_a_field(tmp_path: Path) -> None:
    """See the loss, and that the rules prevent it."""
    printed = _tell("Rename a field", ROOT, tmp_path)

    assert "BREAKING" in printed
    assert "spec.hostname" in printed


def test_change_a_version_of_a_crossplane_xrd(tmp_path: Path) -> None:
    """See the loss in the CRDs of the composite resource and of the claim, and that the rules prevent it."""
    printed = _tell("Change a version of a Crossplane XRD", ROOT, tmp_path)

    assert "BREAKING: 2 CRDs" in printed
    assert "databases and xdatabases of platform.example.com" in printed


def test_plan_in_a_pull_request(tmp_path: Path) -> None:
    """See in a new repository which field objects lose."""
    assert "spec.budget" in _tell("Plan in a pull request", tmp_path, tmp_path)


@pytest.mark.slow
def test_kopf_operator(tmp_path: Path) -> None:
    """Pass."""
    assert " 1 passed" in f" {_tell('Test a kopf operator', ROOT, tmp_path)}"


@pytest.mark.slow
@pytest.mark.long("hack/controllers", "crds/stories", "apiext/tools/testkit")
@pytest.mark.timeout(900)  # the first run compiles the manager
def test_controller_runtime_operator(tmp_path: Path) -> None:
    """Build the manager and pass."""
    go = golang.toolchain(ROOT / "hack" / "controllers", binaries.cache_folder(), lambda _line: None)
    path = os.pathsep.join([str(tmp_path / "bin"), str(Path(sys.executable).parent), str(go.parent), os.environ["PATH"]])
    caches = {name: text for name, text in golang.environment().items() if name.startswith("GO") or name == "CGO_ENABLED"}
    caches |= {
        "GOPATH": os.environ.get("GOPATH") or f"{Path.home()}/go",
        "GOCACHE": os.environ.get("GOCACHE") or f"{Path.home()}/.cache/go-build",
    }

    assert " 1 passed" in f" {_tell('Test a controller-runtime operator', ROOT, tmp_path, PATH=path, **caches)}"
