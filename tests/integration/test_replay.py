"""`apiext replay` with its server, over releases that keep objects, lose fields, and need a webhook."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
import yaml
from click.testing import CliRunner, Result

from apiext.cli.main import apiext
from apiext.cli.releases.replay import LOST
from apiext.cli.releases.verdict_command import FAILURE, VerdictCommandFailure
from hack.lib.servers.certificates import LOOPBACK
from tests.support.builders.conversions import conversion
from tests.support.builders.crds import crd
from tests.support.builders.plans import custom, shaped
from tests.support.conversion_webhook import ConversionWebhook, Json, converting
from tests.support.git import git

RELEASES: Final = Path(__file__).resolve().parents[2] / "crds" / "releases"
APPLIER: Final = {
    "manager": "deployer",
    "operation": "Apply",
    "apiVersion": "example.com/v1",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:a": {}}},
}
Record = Callable[..., Path]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a release, and returns its folder."""

    def release(name: str, *objects: Json) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "all.yaml").write_text(yaml.safe_dump_all(objects))
        return folder

    return release


@pytest.fixture
def record(write: Write, tmp_path: Path) -> Record:
    """Return a function that records definitions and objects."""

    def archive(*objects: Json) -> Path:
        path = tmp_path / "recording.tar.gz"
        done = CliRunner().invoke(apiext, ["record", str(path), "--from", str(write("recorded", *objects))], standalone_mode=False)
        assert done.exception is None, done.exception
        return path

    return archive


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[ConversionWebhook]:
    """Start a webhook that moves spec.a of v1 to spec.b of v2."""
    running = ConversionWebhook(tmp_path, answer=converting(_move), hosts=(*LOOPBACK, "webhook.default.svc"))
    yield running
    running.close()


def _move(obj: Json, version: str) -> None:
    spec: Json = obj["spec"]
    old, new = ("a", "b") if version.endswith("v2") else ("b", "a")
    if old in spec:
        spec[new] = spec.pop(old)


def _drop(obj: Json, version: str) -> None:
    """Move the field to v2, but not back."""
    if version.endswith("v2"):
        _move(obj, version)
    else:
        obj["spec"].pop("b", None)


def _replay(*arguments: object) -> Result:
    return CliRunner().invoke(apiext, ["replay", *map(str, arguments)], standalone_mode=False)


def _document(*arguments: object) -> tuple[int, Any]:
    done = _replay(*arguments, "-o", "json")
    assert done.exception is None, done.exception
    return done.return_value, json.loads(done.stdout)


def _kinds(document: Any) -> list[list[str]]:
    return [[step["kind"] for one in change["definitions"] for step in one["steps"]] for change in document["transitions"]]


def _problems(document: Any) -> list[Any]:
    return [problem for change in document["transitions"] for one in change["definitions"] for problem in one["problems"]]


def _failure(done: Result) -> tuple[int, str]:
    assert isinstance(done.exception, VerdictCommandFailure), done.exception
    return done.exception.exit_code, done.exception.format_message()


def _routes() -> Sequence[Json]:
    files = (RELEASES / "1" / "routes.yaml", RELEASES / "objects" / "routes.yaml")
    return [document for file in files for document in yaml.safe_load_all(file.read_text())]


def test_three_releases(record: Record, tmp_path: Path) -> None:
    """Walk there and back by the steps of the plans, and lose nothing."""
    archive = record(*_routes())

    code, document = _document(archive, RELEASES / "2", RELEASES / "3", "-o", f"junit={tmp_path}/replay.xml")

    assert (code, document["lost"], document["objects"], document["notProved"]) == (0, False, 3, [])
    assert [change["wayBack"] for change in document["transitions"]] == [False, False, True, True]
    assert _kinds(document) == [
        ["apply", "migrate", "prune-stored-versions"],
        ["stop-serving", "apply"],
        ["apply"],
        ["move-storage", "migrate", "prune-stored-versions", "stop-serving", "apply-again", "apply"],
    ]
    assert _problems(document) == []
    assert ET.parse(tmp_path / "replay.xml").getroot().get("failures") == "0"  # noqa: S314 -- written here


def test_steps_of_later_releases(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what only a later release needs. The release is a git revision whose files are gone."""
    folder = tmp_path / "tree"
    shutil.copytree(RELEASES / "2", folder / "crds")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "2"], ["tag", "second"], ["rm", "-qr", "crds"]):
        git(folder, *arguments)
    monkeypatch.chdir(folder)

    code, document = _document(record(*_routes()), "second", "--path", "crds", "--no-later")

    assert (code, _kinds(document)[0]) == (0, ["apply"])


def test_fields_that_a_version_lacks(record: Record, write: Write) -> None:
    """Find the fields that a write in a version without them drops, which the plan foretells."""
    archive = record(crd("widgets", shaped("v1", "a", "b", storage=True)), custom("w", a="x", b="y"), custom("u", a="x"))
    new = write("new", crd("widgets", shaped("v1", "a", "b", storage=True), shaped("v2", "a")))

    code, document = _document(archive, new)

    assert code == LOST
    lost = next(problem for problem in _problems(document) if problem["kind"] == "lost")
    assert (lost["version"], lost["path"], lost["examples"], lost["foretold"]) == ("v2", "spec.b", ["default/w"], "yes")
    assert "foretold: 1 object: v2 spec.b: a label set at v2 drops the field (default/w)" in _replay(archive, new).stdout


def test_losses_before_the_release(record: Record, write: Write) -> None:
    """Do not blame a rollback for what the definition before the release does, and for what only defaults have set."""
    old = crd("widgets", shaped("v1", "a", "b", storage=True), shaped("v2", "a"))
    archive = record(old, custom("w", a="x", b="y"))
    more = {"more": {"type": "string", "default": "x"}}
    new = write("new", crd("widgets", shaped("v1", "a", "b", storage=True), shaped("v2", "a", "b")))
    for version in (document := yaml.safe_load((new / "all.yaml").read_text()))["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] |= more
    (new / "all.yaml").write_text(yaml.safe_dump(document))

    code, found = _document(archive, new)

    assert [(one["kind"], one["path"], one["foretold"]) for one in _problems(found) if one["harm"]] == []
    assert ("lost", "spec.b", "before") in [(one["kind"], one["path"], one["foretold"]) for one in _problems(found)]
    assert code == 0


def test_unchanged_definition(record: Record, write: Write) -> None:
    """Take the steps that are left of an earlier release, and find what the definition does to objects in any case."""
    both = crd("widgets", shaped("v1", "a", "b", storage=True), shaped("v1beta1", "a"))
    archive = record(both, custom("m", "v1beta1", a="x"), custom("w", a="x", b="y"))

    code, document = _document(archive, write("new", both))

    assert (code, _kinds(document)) == (0, [["migrate", "prune-stored-versions"]])
    assert [(one["kind"], one["path"], one["foretold"]) for one in _problems(document)] == [("lost", "spec.b", "before")]


def test_pruned_fields_and_appliers(record: Record, write: Write) -> None:
    """Count fields that the plan says are pruned as foretold, with what their appliers notice."""
    archive = record(crd("widgets", shaped("v1", "a", "b", storage=True)), custom("w", managers=[APPLIER], a="x", b="y"))
    new = write("new", crd("widgets", shaped("v1", "a", storage=True)))

    code, document = _document(archive, new)

    assert code == 0
    assert [(one["kind"], one["path"], one["foretold"]) for one in _problems(document)] == [("pruned", "spec.b", "yes")]


def test_refused_updates(record: Record, write: Write) -> None:
    """Find the updates that the new schema refuses, which the plan foretells."""
    archive = record(crd("widgets", shaped("v1", "a", storage=True)), custom("w", a="x"))
    stricter = shaped("v1", "a", storage=True)
    # a label changes the root, so that ratcheting does not help
    stricter["schema"]["openAPIV3Schema"] |= {"required": ["more"]}
    stricter["schema"]["openAPIV3Schema"]["properties"]["more"] = {"type": "string"}

    code, document = _document(archive, write("new", crd("widgets", stricter)))

    problems = [problem for problem in _problems(document) if problem["kind"] == "refused"]
    assert (code, [problem["foretold"] for problem in problems]) == (0, ["yes"])


def test_webhook(record: Record, write: Write, webhook: ConversionWebhook) -> None:
    """Convert with the webhook at a Service's address, there and back."""
    conversion = webhook.conversion(**webhook.service())
    archive = record(crd("widgets", shaped("v1", "a", storage=True)), custom("w", managers=[APPLIER], a="x"))
    new = write("new", crd("widgets", shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=conversion))

    code, document = _document(archive, new, "--service-address", f"default/webhook=127.0.0.1:{webhook.port}")

    assert (_problems(document), code) == ([], 0)
    assert webhook.calls


def test_webhook_that_loses_fields(record: Record, write: Write, webhook: ConversionWebhook, tmp_path: Path) -> None:
    """Find the fields that a webhook elsewhere drops on the way back."""
    webhook.answer = converting(_drop)
    conversion = webhook.conversion(**webhook.service())
    archive = record(crd("widgets", shaped("v1", "a", storage=True)), custom("w", a="x"))
    new = write("new", crd("widgets", shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=conversion))
    ca = tmp_path / "ca.pem"
    ca.write_bytes(webhook.authority.cert.read_bytes())

    code, document = _document(archive, new, "--webhook-url", webhook.url, "--webhook-ca-file", ca)

    assert code == LOST
    assert {problem["path"] for problem in _problems(document)} >= {"spec.a"}


def test_webhooks_that_are_not_called(record: Record, write: Write, webhook: ConversionWebhook) -> None:
    """Leave out the definitions whose webhook has no address; without others, there is no replay."""
    archive = record(crd("widgets", shaped("v1", "a", storage=True)), custom("w", a="x"))
    new = write("new", crd("widgets", shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=webhook.conversion()))

    code, message = _failure(_replay(archive, new))

    assert code == FAILURE
    assert "widgets.example.com: its conversion webhook is not called" in message


def test_rules(record: Record, write: Write) -> None:
    """Convert by the rules of Conversions in releases, also in place of a webhook that does not answer, and by none before and after."""
    webhook = {"clientConfig": {"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": ["v1"]}
    archive = record(crd("widgets", shaped("v1", "a", "x", storage=True)), custom("w", managers=[APPLIER], a="x", x="carried"))
    renamed = crd(
        "widgets", shaped("v1", "a", "x"), shaped("v2", "b", storage=True), conversion={"strategy": "Webhook", "webhook": webhook}
    )
    two = write("two", renamed, conversion("v2", "widgets.example.com", v1=[{"rename": {"path": "spec.a", "to": "b"}}]))
    moved = [{"rename": {"path": "spec.a", "to": "b"}}, {"rename": {"path": "spec.x", "to": "y"}}]
    more = crd("widgets", shaped("v1", "a", "x"), shaped("v2", "b", "y", storage=True), conversion={"strategy": "None"})
    three = write("three", more, conversion("v2", "widgets.example.com", v1=moved))

    code, document = _document(archive, two, three)

    assert ([problem for problem in _problems(document) if problem["harm"]], code, document["notProved"]) == ([], 0, [])


def test_definitions_without_steps(record: Record, write: Write) -> None:
    """Stay at the earlier release of a definition that the server refuses, and check that it does."""
    archive = record(crd("widgets", shaped("v1", "a", storage=True)), custom("w", a="x"))
    new = write("new", crd("widgets", shaped("v1", "a", storage=True), scope="Cluster"))

    code, document = _document(archive, new)

    assert (code, _kinds(document)) == (0, [[]])
    assert document["transitions"][0]["definitions"][0]["notProved"] == ["no steps lead to it"]
