"""The action for pull requests: its steps in a shell, in the repository of an author."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from hack.lib import environments
from hack.lib.environments import ROOT
from tests.support.action_run import ActionRun
from tests.support.author_repository import CRD, apiext_program, author_repository, change, has, program

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not has("git", "bash", "awk", "jq"), reason="the steps need git, bash, awk and jq")]
COMMENTS: Final = "repos/acme/routes/issues/7/comments"
_GH: Final = """\
printf '%s\\n' "$*" >>"$CALLS"
[ "$2" = --paginate ] && exec jq -r "$5" "$COMMENTS"
[ -z "${GH_FAILS:-}" ]
"""
Run = Callable[..., tuple[int, ActionRun]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return the work tree of an author's branch."""
    return author_repository(tmp_path)


@pytest.fixture
def run(tree: Path, tmp_path: Path) -> Run:
    """Return a function that runs the action on the pull request of the branch, without its installation."""
    scratch, programs = tmp_path / "scratch", tmp_path / "bin"
    apiext_program(scratch / "apiext" / "bin")
    programs.mkdir()
    program(programs / "gh", _GH)
    (tmp_path / "comments").write_text("[]")
    github = {"repository": "acme/routes", "event_name": "pull_request", "base_ref": "main", "event.pull_request.number": "7", "token": "t"}

    def run(github: dict[str, str] = github, **inputs: str) -> tuple[int, ActionRun]:
        given = {name.replace("_", "-"): text for name, text in inputs.items()}
        found = ActionRun(ROOT / "action.yml", tree, scratch, github, given)
        found.outputs["python"] = {"python-path": sys.executable}
        found.environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "CALLS": str(tmp_path / "calls"),
            "COMMENTS": str(tmp_path / "comments"),
        } | ({"GH_FAILS": "yes"} if inputs.get("token") == "none" else {})
        return found.run(leaves_out=lambda name: name == "Install apiext"), found

    return run


def _calls(tmp_path: Path) -> list[str]:
    return [line for line in (tmp_path / "calls").read_text().splitlines() if line.startswith("api")]


def test_accepts_a_safe_change(tree: Path, run: Run, tmp_path: Path) -> None:
    """Succeed, with the plan as a comment and in the summary of the job."""
    change(tree, "maximum: 65535}", "maximum: 65535}\n                note: {type: string}")

    code, found = run(objects="config/samples", suites="config/suites")

    assert (code, found.outputs["plan"]["code"], found.outputs["suites"]["code"]) == (0, "0", "0"), found.printed
    assert _calls(tmp_path)[1] == f"api --silent --method POST {COMMENTS} -F body=@{tmp_path}/scratch/comment.md"
    comment = (tmp_path / "scratch" / "comment.md").read_text()
    assert comment.removeprefix("<!-- apiext plan config/crd -->\n") == (tmp_path / "scratch" / "summary.md").read_text()
    assert "routes.net.example.com" in comment


def test_refuses_a_breaking_change(tree: Path, run: Run, tmp_path: Path) -> None:
    """Fail after the comment is written, over the comment of an earlier run."""
    change(tree, "name: v1alpha1", "name: v1")
    mark = "<!-- apiext plan config/crd -->"
    bodies = {12: f"Looks good.\n{mark}", 34: f"{mark}\r\nBREAKING", 56: f"> {mark}"}
    (tmp_path / "comments").write_text(json.dumps([{"id": number, "body": body} for number, body in bodies.items()]))

    code, found = run()

    assert (code, found.outputs["plan"]["code"]) == (1, "2"), found.printed
    assert _calls(tmp_path)[1].startswith("api --silent --method PATCH repos/acme/routes/issues/comments/34 -F body=@")


def test_fails_for_the_least_verdict_that_is_given(tree: Path, run: Run) -> None:
    """Succeed with `fail-on: never` whatever the plan says."""
    change(tree, "name: v1alpha1", "name: v1")

    assert run(fail_on="never")[0] == 0


def test_goes_on_without_the_right_to_comment(tree: Path, run: Run) -> None:
    """Say where the plan is, if the token of a fork cannot write."""
    code, found = run(token="none")

    assert code == 0, found.printed
    assert "::warning title=apiext::The plan is in the summary of the job" in found.printed
    assert tree.exists()


def test_annotates_failed_cases(tree: Path, run: Run) -> None:
    """Put the failure of a case beside its line of the suite, and fail."""
    suite = tree / "config" / "suites" / "routes.testsuite.yaml"
    suite.write_text(suite.read_text().replace("Required value", "Forbidden, 100%"))
    (line,) = (number for number, text in enumerate(suite.read_text().splitlines(), 1) if "a route needs a host" in text)

    code, found = run(crds="", suites="config/suites")

    assert (code, found.outputs["suites"]["code"]) == (1, "1"), found.printed
    (annotation,) = (text for text in found.printed.splitlines() if text.startswith("::error "))
    about, _, text = annotation.removeprefix("::error ").partition("::")
    assert about == f"title=a route needs a host,file=config/suites/routes.testsuite.yaml,line={line}"
    assert "Forbidden, 100%25" in text
    assert "%0A" in text or "\n" not in text


def test_compares_with_what_is_named(tree: Path, run: Run) -> None:
    """Compare with a revision instead of the branch of the pull request, for other events."""
    code, found = run(github={"repository": "acme/routes", "event_name": "push"}, **{"from": "HEAD"})
    assert code == 0, found.printed

    code, found = run(github={"repository": "acme/routes", "event_name": "push"})
    assert code != 0
    assert "from is needed outside of pull requests" in found.printed
    assert (tree / CRD).exists()


@pytest.mark.timeout(900)
def test_installs_itself(tree: Path, tmp_path: Path) -> None:
    """Install apiext from the folder of the action with hash-pinned packages, and make a plan with it."""
    scratch = tmp_path / "scratch"
    try:
        for name, lock in (("image", "requirements.lock"), ("image-build", "requirements-build.lock")):
            python = environments.of_lock(name, ROOT / "manifests" / lock)
            (packages,) = python.parents[1].glob("lib/python*/site-packages")
            target = scratch / "apiext" / packages.relative_to(python.parents[1])
            shutil.copytree(packages, target, copy_function=os.link, dirs_exist_ok=True)
    except environments.InstallationError as error:
        pytest.skip(str(error))
    github = {"repository": "acme/routes", "event_name": "push"}
    action = ActionRun(ROOT / "action.yml", tree, scratch, github, {"from": "HEAD"})
    action.outputs["python"] = {"python-path": sys.executable}

    assert action.run() == 0, action.printed
    assert action.outputs["plan"] == {"code": "0"}
