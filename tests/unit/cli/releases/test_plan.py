"""`apiext plan`."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner, Result

from apiext.cli.main import apiext
from apiext.cli.releases.verdict_command import VerdictCommandFailure
from apiext.resources.definitions.codec import CRDCodec
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.tools.plan.document import schema
from tests.support.builders.crds import crd, stored_crd
from tests.support.builders.plans import custom, shaped
from tests.support.git import git

Run = Callable[..., Result]
OLD: Final = crd("widgets", shaped("v1", "a", storage=True))
BOTH: Final = crd("widgets", shaped("v1", "a"), shaped("v2", "a", storage=True))
NEW: Final = crd("widgets", shaped("v2", "a", storage=True))


def _write(path: Path, *objects: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(objects))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three releases and objects."""
    for name, definition in (("old", OLD), ("both", BOTH), ("new", NEW)):
        _write(tmp_path / name / "widgets.yaml", definition)
    _write(tmp_path / "objects" / "widgets.yaml", custom("w", "v1", a="x"))
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the command in the folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "environ", {name: text for name, text in os.environ.items() if not name.startswith("GIT_")})

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(apiext, ["plan", *arguments], standalone_mode=False)

    return invoke


def _failure(result: Result) -> tuple[int, str]:
    error = result.exception
    assert isinstance(error, VerdictCommandFailure), result.exception
    return error.exit_code, error.format_message()


@pytest.mark.parametrize(
    "arguments,code",
    [
        (["both", "--from", "old"], 0),
        (["new", "--from", "both"], 2),
        (["new", "--from", "both", "--fail-on", "never"], 0),
        (["new", "--from", "both", "--config", "accepted.yaml"], 1),
        (["new", "--from", "both", "--config", "accepted.yaml", "--fail-on", "breaking"], 0),
        (["both", "--from", "old", "--fail-on-rollback"], 1),
        (["both", "--from", "old", "--fail-on-rollback", "--no-rollback"], 0),
        (["old/widgets.yaml", "--from", "old", "--fail-on", "warning"], 0),
    ],
)
def test_exit_codes(run: Run, folder: Path, arguments: list[str], code: int) -> None:
    """Exit with the verdict, as far as the flags want."""
    exceptions = {"exceptions": [{"rules": ["versionRemoved"], "reason": "nobody uses it"}]}
    (folder / "accepted.yaml").write_text(yaml.safe_dump(exceptions))

    assert run(*arguments).return_value == code


@pytest.mark.parametrize(
    "arguments,message",
    [
        (["new"], "is not in a git work tree"),
        (["--from", "old"], "Missing argument 'NEW...'"),
        (["new", "--from", "old", "--nope"], "No such option '--nope'."),
        (["new", "--from", "nothing"], "'nothing' names nothing that exists"),
        (["objects", "--from", "old"], "there are no CRDs in objects"),
        (["new", "--from", "old", "-o", "pdf"], "-o: 'pdf' is none of text, json, markdown, html, junit"),
        (["new", "--from", "old", "-o", "json=no/such/folder"], "no/such/folder: No such file or directory"),
        (["new", "--from", "old", "--config", "missing.yaml"], "--config: missing.yaml: No such file or directory"),
        (["new", "--from", "old", "--webhook-url", "http://x"], "does not begin with https://"),
        (["new", "--from", "old", "--webhook-ca-file", "x"], "--webhook-ca-file needs --webhook-url"),
        (["new", "--from", "old", "--webhook-url", "https://x", "--webhook-ca-file", "x"], "--webhook-ca-file: x: No such file"),
        (["new", "--from", "old", "--service-address", "x"], "--service-address: 'x' is not NAMESPACE/NAME=HOST:PORT"),
        (["new", "--from", "old", "--steps-dir", "old/widgets.yaml"], "--steps-dir: old/widgets.yaml: File exists"),
        (["new", "--from", "old", "--fail-on", "x"], "Invalid value for '--fail-on'"),
    ],
)
def test_failures(run: Run, arguments: list[str], message: str) -> None:
    """Print one line, with an exit code that is no verdict."""
    code, text = _failure(run(*arguments))

    assert code == 3
    assert message in text
    assert "\n" not in text


def test_compares_with_the_last_commit(run: Run, folder: Path) -> None:
    """Take the definitions of HEAD without --from."""
    for arguments in (["init", "-q"], ["add", "old"], ["commit", "-qm", "x"]):
        git(folder, *arguments)
    _write(folder / "old" / "widgets.yaml", BOTH)
    result = run("old")

    assert result.return_value == 0
    assert result.output.startswith("SAFE: 1 CRD changes.\nold replaces git HEAD\n")
    assert "1. Apply the new definition of widgets.example.com" in result.output


def test_formats(run: Run, folder: Path) -> None:
    """Write several formats at once, into files and to stdout."""
    result = run(
        "both",
        "--from",
        "old",
        "--objects",
        "objects",
        "-o",
        "json",
        *[part for name in ("text=a.txt", "markdown=a.md", "html=a.html", "junit=a.xml") for part in ("-o", name)],
    )
    document = json.loads(result.output)

    assert document["objects"] == "objects"
    assert document["definitions"][0]["objects"]["total"] == 1
    assert set(document) == set(schema()["required"])
    assert (folder / "a.txt").read_text().startswith("SAFE: 1 CRD changes. 1 object as it is.\nboth replaces old, objects of objects\n")
    assert (folder / "a.md").read_text().startswith("### ✅ SAFE: 1 CRD changes. 1 object as it is.\n")
    assert (folder / "a.html").read_text().startswith("<!doctype html>\n")
    assert (folder / "a.xml").read_text().startswith("<?xml version='1.0' encoding='utf-8'?>\n<testsuites")


@pytest.mark.parametrize("format_", ["json", "markdown", "html", "junit"])
def test_output_is_deterministic(run: Run, format_: str) -> None:
    """Print the same twice."""
    arguments = ["new", "--from", "old", "--objects", "objects", "-o", format_]

    assert run(*arguments).output == run(*arguments).output


def test_a_store(run: Run, folder: Path) -> None:
    """Take definitions, objects and exact counts from a store."""

    async def fill() -> None:
        backend = await SQLiteBackend.open(folder / "store" / "apiext.db")
        found = stored_crd(versions=[shaped("v1", "a", served=False), shaped("v2", "a", storage=True)])
        found["status"]["storedVersions"] = ["v1", "v2"]
        await backend.create(
            "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com", CRDCodec().encode(found).stored
        )
        for name, label in (("x", "v1"), ("y", "v2"), ("z", "v2")):
            await backend.create(f"/registry/example.com/widgets/default/{name}", json.dumps(custom(name, label, a="x")).encode())
        await backend.close()

    (folder / "store").mkdir()
    asyncio.run(fill())
    result = run("new", "--stored", "store", "-o", "json")
    document = json.loads(result.output)
    (definition,) = document["definitions"]

    assert result.return_value == 1
    assert [(one["name"], one["objects"]) for one in definition["versions"]["items"]] == [("v2", 2), ("v1", 1)]
    assert definition["versions"]["exact"]
    assert definition["versions"]["storedVersions"]["before"] == ["v1", "v2"]
    assert definition["objects"]["total"] == 3
    assert [step["kind"] for step in definition["steps"]] == ["migrate", "prune-stored-versions", "apply"]


def test_steps(run: Run, folder: Path) -> None:
    """Print the script, and write scripts with their manifests."""
    result = run("both", "--from", "old", "--steps", "--steps-dir", "out/steps", "-o", "text", "-o", "junit=a.xml")

    assert result.output.startswith("#!/bin/sh\n# both replaces old\n# Verdict: safe\n")
    names = sorted(path.name for path in (folder / "out" / "steps").iterdir())
    assert names[:2] == ["rollback-widgets.example.com-1-move-storage.yaml", "rollback-widgets.example.com-2-migrate.yaml"]
    assert {"steps.sh", "rollback.sh"} < set(names)
    assert (folder / "a.xml").exists()
    assert os.access(folder / "out" / "steps" / "steps.sh", os.X_OK)


def test_no_way_back(run: Run, folder: Path) -> None:
    """Write no script for a rollback that was not judged."""
    run("both", "--from", "old", "--steps-dir", "out", "--no-rollback")

    assert not (folder / "out" / "rollback.sh").exists()


def test_verbose(run: Run) -> None:
    """Show commands on request."""
    assert "$ kubectl patch crd" not in run("both", "--from", "old").output
    assert "$ kubectl patch crd" in run("both", "--from", "old", "-v").output


def test_several_files(run: Run, folder: Path) -> None:
    """Take several files as one release, and judge what it lacks on request."""
    _write(folder / "old" / "gadgets.yaml", crd("gadgets", kind="Gadget"))
    _write(folder / "more.yaml", crd("things", kind="Thing"))
    found = json.loads(run("both/widgets.yaml", "more.yaml", "--from", "old", "--prune", "-o", "json").output)

    assert [(one["name"].partition(".")[0], one["state"]) for one in found["definitions"]] == [
        ("gadgets", "removed"),
        ("things", "added"),
        ("widgets", "changed"),
    ]


def test_a_webhook_in_the_flags(run: Run, folder: Path) -> None:
    """Call the webhook at the URL of the flags, with its authority."""
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://unused.example.com"}}
    spec = {"strategy": "Webhook", "webhook": webhook}
    _write(folder / "hooked.yaml", crd("widgets", shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=spec))
    (folder / "ca.crt").write_text("not a certificate")
    url = ["--webhook-url", "https://127.0.0.1:1/convert"]
    plain = json.loads(run("hooked.yaml", "--from", "old", "--objects", "objects", "-o", "json", *url).output)
    trusted = json.loads(
        run("hooked.yaml", "--from", "old", "--objects", "objects", "-o", "json", *url, "--webhook-ca-file", "ca.crt").output
    )

    reasons = [{part["reason"] for part in found["definitions"][0]["objects"]["notJudged"]} for found in (plain, trusted)]
    assert "does not answer" in min(reasons[0])
    assert reasons[1] != reasons[0]
