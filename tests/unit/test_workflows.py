"""Workflows, the action and the hooks: pinned, with few rights, and with the commands of the repository."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).resolve().parents[2]
WORKFLOWS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
_PINNED: Final = re.compile(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
_WRITES: Final = {
    "release.yml": {
        "build": {"id-token", "attestations"},
        "image": {"packages", "id-token", "attestations"},
        "draft": {"contents"},
        "publish": {"id-token"},
    },
    "ci.yml": {"pages": {"pages", "id-token"}},
}
"""The rights to write that a job needs; all others have none."""


def _workflow(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def _steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_actions_are_pinned(path: Path) -> None:
    """Use other people's actions at a commit, with its version beside it: a tag can move."""
    uses = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]

    assert uses
    assert [line for line in uses if not _PINNED.match(line)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_write_what_they_must(path: Path) -> None:
    """Give each job no more rights than it needs, and an end."""
    workflow = _workflow(path)
    common = workflow["permissions"]

    assert "write" not in str(common)
    written = {
        name: {right for right, kind in job["permissions"].items() if kind == "write"}
        for name, job in workflow["jobs"].items()
        if "permissions" in job
    }
    assert written == _WRITES[path.name]
    assert all(job["timeout-minutes"] for job in workflow["jobs"].values())


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_commands_take_no_text_of_others(path: Path) -> None:
    """Pass values of events and inputs to shells as variables: in a command they would be read as code."""
    found = _workflow(path)
    steps = list(_steps(found)) if "jobs" in found else found["runs"]["steps"]

    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


def test_commands_exist() -> None:
    """Run commands of the repository that are there."""
    named = {name for path in WORKFLOWS for name in re.findall(r"(?<![\w/])((?:hack|\.ci)/\w+)", path.read_text())}

    assert {"hack/release", "hack/site", "hack/test", ".ci/run"} <= named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_image_is_pinned() -> None:
    """Build from a base that is named once, with its digest, for both architectures."""
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", (ROOT / "manifests" / "Containerfile").read_text(), re.MULTILINE)
    (push,) = (step["with"] for step in _steps(_workflow(ROOT / ".github/workflows/release.yml")) if "file" in step.get("with", {}))

    assert re.fullmatch(r"\$\{REGISTRY\}/python:3\.11-slim@sha256:[0-9a-f]{64}", stages[0][0])
    assert "\nARG REGISTRY=docker.io/library\n" in (ROOT / "manifests" / "Containerfile").read_text()
    assert stages[1:] == [(stages[0][1], "build"), (stages[0][1], "")]
    assert (push["file"], push["platforms"]) == ("manifests/Containerfile", "linux/amd64,linux/arm64")
