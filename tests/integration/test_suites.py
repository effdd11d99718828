"""`apiext test` with its servers: suites that pass and fail, updates of expectations, coverage, releases and conversion."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
import yaml
from click.testing import CliRunner, Result

from apiext.cli.main import apiext
from apiext.cli.suites.test import FAILED, NOTHING
from hack.lib.servers.certificates import LOOPBACK
from tests.support.builders.crds import crd, version
from tests.support.conversion_webhook import ConversionWebhook, Json, converting

ROOT: Final = Path(__file__).resolve().parents[2]
SPEC: Final = {
    "type": "object",
    "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size != 13", "message": "size must not be 13"}],
    "properties": {
        "size": {"type": "integer", "maximum": 20},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "note": {"type": "string"},
    },
}
STATUS: Final = {"type": "object", "properties": {"ready": {"type": "boolean"}, "count": {"type": "integer", "minimum": 0}}}
CASES: Final = """\
# a comment that stays
crdName: widgets.example.com
crds: [crd.yaml]
tests:
  onCreate:
    - name: default
      initial: |
        apiVersion: example.com/v1
        kind: Widget
        spec: {}
      expected: |
        apiVersion: example.com/v1
        kind: Widget
        spec:
          colour: red
    - name: rule   # this one stays, too
      initial: |
        apiVersion: example.com/v1
        kind: Widget
        spec: {size: 13}
      expectedError: size must not be 13
  onUpdate:
    - name: ratcheting
      initialCRDPatches:
        - op: remove
          path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum
      initial: |
        apiVersion: example.com/v1
        kind: Widget
        spec: {size: 30}
      updated: |
        apiVersion: example.com/v1
        kind: Widget
        spec: {size: 30, note: tolerated}
      expected: |
        apiVersion: example.com/v1
        kind: Widget
        spec: {size: 30, note: tolerated, colour: red}
    - name: status
      initial: |
        apiVersion: example.com/v1
        kind: Widget
        status: {ready: false}
      updated: |
        apiVersion: example.com/v1
        kind: Widget
        status: {count: -1}
      expectedStatusError: should be greater than or equal to 0
"""
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a CRD and a suite, and returns the suite."""

    def suite(text: str = CASES) -> Path:
        schema = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
        definition = crd(versions=[version("v1", storage=True, schema=schema, subresources={"status": {}})])
        (tmp_path / "crd.yaml").write_text(yaml.safe_dump(definition))
        path = tmp_path / "widgets.testsuite.yaml"
        path.write_text(text)
        return path

    return suite


def run(*arguments: Any, code: int = 0, answers: str = "") -> Result:
    """Run the command, which ends with a code."""
    done: Result = CliRunner().invoke(apiext, ["test", "-n", "1", *map(str, arguments)], standalone_mode=False, input=answers)
    assert done.exception is None, done.exception
    assert done.return_value == code, done.output
    return done


def test_takes_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the suites below the current folder without an argument."""
    monkeypatch.chdir(ROOT / "crds")

    assert run("--collect-only").output.startswith("suites/routes.testsuite.yaml::")


def test_cases_pass(write: Write, tmp_path: Path) -> None:
    """Creations, updates, refusals of the status and ratcheting are as expected; JUnit has each case."""
    done = run(write(), "-v", "-o", "text", "-o", f"junit={tmp_path / 'junit.xml'}")

    assert "4 passed" in done.output
    assert "onUpdate::ratcheting PASSED" in done.output
    root = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 -- written by this test
    assert [case.get("name") for case in root.iter("testcase")] == ["default", "rule", "ratcheting", "status"]


def test_failures_name_the_difference(write: Write) -> None:
    """A difference is shown as YAML, an unexpected error with its text; the code is 1."""
    done = run(write(CASES.replace("colour: red", "colour: blue").replace("must not be 13", "must not be 14")), code=FAILED)

    assert "-  colour: blue" in done.output
    assert "+  colour: red" in done.output
    assert "- size must not be 14" in done.output
    assert "3 failed, 1 passed" in done.output


def test_update_writes_what_was_found(write: Write) -> None:
    """--update rewrites expectations after a question, and nothing else; the suite then passes."""
    wrong = CASES.replace("colour: red", "colour: blue").replace("expectedError: size must not be 13", "expected: {}")
    path = write(wrong)

    refused = run(path, "--update", code=FAILED, answers="n\n")

    assert path.read_text() == wrong
    assert "+      expectedError: 'spec: Invalid value: size must not be 13'" in refused.output

    run(path, "--update", "--yes", code=FAILED)

    text = path.read_text()
    assert text.startswith("# a comment that stays\n")
    assert "# this one stays, too" in text
    assert "4 passed" in run(path).output


def test_first_failure_ends_the_run(write: Write) -> None:
    """-x stops at the first failure, -k selects cases."""
    path = write(CASES.replace("colour: red", "colour: blue").replace("must not be 13", "must not be 14"))

    assert "1 failed in" in run(path, "-x", code=FAILED).output
    assert "1 passed, 3 deselected" in run(path, "-k", "status and not rule").output
    run(path, "-k", "nothing", code=NOTHING)


def test_finalizers_do_not_keep_objects(write: Write) -> None:
    """Objects with finalizers are gone after their case or scenario, and so is the definition."""
    finalized = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, finalizers: [example.com/x]}\n"
    steps = [{"create": finalized}, {"delete": {"name": "a"}}, {"get": {"name": "a"}}]
    tests = {
        "onCreate": [{"name": name, "initial": finalized, "expected": finalized} for name in ("one", "two")],
        "scenarios": [{"name": name, "steps": steps} for name in ("three", "four")],
    }
    path = write(yaml.safe_dump({"crdName": "widgets.example.com", "crds": ["crd.yaml"], "tests": tests}))

    assert "4 passed" in run(path).output


def test_coverage_names_what_no_case_touched(write: Write, tmp_path: Path) -> None:
    """--coverage counts properties, values, rules and limits, in text and JSON."""
    done = run(write(), "--coverage", "-o", "text", "-o", f"json={tmp_path / 'report.json'}")

    assert "not touched: enum value spec.colour" in done.output
    assert "not touched: limit spec.size maximum" in done.output
    assert "not touched: rule" not in done.output

    document = json.loads((tmp_path / "report.json").read_text())
    (covered,) = document["coverage"]
    assert covered["counts"]["rule"] == {"touched": 1, "all": 1}
    assert {"kind": "limit", "path": "spec.size", "text": "maximum"} in covered["untouched"]


def test_older_suites_of_openshift(tmp_path: Path) -> None:
    """A suite that names the manifest of its CRD runs with all versions of it."""
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(crd(versions=[version("v1", storage=True), version("v2")])))
    initial = {"apiVersion": "example.com/v2", "kind": "Widget", "spec": {"a": 1}}
    suite = {"crd": "crd.yaml", "tests": {"onCreate": [{"name": "a", "initial": initial, "expected": initial}]}}
    (tmp_path / "a.testsuite.yaml").write_text(yaml.safe_dump(suite))

    assert "1 passed" in run(tmp_path).output


@pytest.mark.parametrize(
    "step, failure",
    [
        ({"storedVersion": {"name": "b"}}, "unexpected error"),
        ({"storedVersion": {"name": "a"}, "expectedError": "not found"}, "expectedError: no error"),
        ({"storedVersion": {"name": "b"}, "expectedError": "forbidden"}, "expectedError: another error"),
        ({"storedVersions": ["v1"], "expectedError": "not found"}, "expectedError: no error"),
        ({"storedVersions": ["v2"]}, "status.storedVersions differs"),
    ],
)
def test_steps_about_stored_versions_fail(tmp_path: Path, step: Json, failure: str) -> None:
    """Steps about stored versions expect errors as all others do; --update writes what makes them pass, if anything does."""
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(crd()))
    steps = [{"create": _widget("v1", "a", size=1)}, step]
    suite = {"crdName": "widgets.example.com", "crds": ["crd.yaml"], "tests": {"scenarios": [{"name": "s", "steps": steps}]}}
    path = tmp_path / "a.testsuite.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False))

    assert failure in run(path, "--update", "--yes", code=FAILED).output
    run(path, code=FAILED if "no error" in failure else 0)


def test_suites_of_the_repository_pass() -> None:
    """The example suite, with a release of its CRD in the middle, passes."""
    assert "passed" in run(ROOT / "crds" / "suites").output


def _change(obj: Json, version: str) -> None:
    spec: Json = obj["spec"]
    spec["size"] = str(spec["size"]) if version.endswith("v2") else int(spec["size"])


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[ConversionWebhook]:
    """Start a webhook that has a number in v1 as a text in v2."""
    running = ConversionWebhook(tmp_path, answer=converting(_change), hosts=LOOPBACK)
    yield running
    running.close()


def test_scenarios_with_a_webhook(webhook: ConversionWebhook, tmp_path: Path) -> None:
    """Steps apply, convert, read and delete objects in both versions, through the webhook that the suite names."""
    shape = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    versions = [version("v1", storage=True, schema=shape), version("v2", schema=shape)]
    definition = crd(versions=versions, conversion=webhook.conversion(url="https://unused.example.com"))
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(definition))
    suite = {
        "crdName": "widgets.example.com",
        "crds": ["crd.yaml"],
        "conversion": {"webhookURL": webhook.url, "caFile": str(webhook.authority.cert)},
        "tests": {"scenarios": [{"name": "both versions", "steps": _steps()}]},
    }
    path = tmp_path / "widgets.testsuite.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False))

    assert "1 passed" in run(path).output
    assert webhook.calls

    _steps_of(suite)[2]["expected"] = _widget("v2", size="6")
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    failed = run(path, "--update", "--yes", code=FAILED)

    assert "step 3 (get)" in failed.output
    assert "1 passed" in run(path).output


def _widget(version: str, name: str = "", **spec: Any) -> Json:
    metadata = {"metadata": {"name": name}} if name else {}
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", **metadata, "spec": spec}


def _steps() -> list[Json]:
    return [
        {"conversion": {"object": _widget("v1", size=1), "to": "v2"}, "expected": _widget("v2", size="1")},
        {"apply": _widget("v2", "a", size="5"), "fieldManager": "author"},
        {"get": {"name": "a", "version": "v2"}, "expected": _widget("v2", size="5")},
        {"storedVersion": {"name": "a"}, "expected": "v1"},
        {"storedVersion": {"name": "b"}, "expectedError": "not found"},
        {"apply": _widget("v2", "a", size="7"), "fieldManager": "other", "expectedError": "conflict"},
        {"update": _widget("v1", "a", size=8), "expected": _widget("v1", "a", size=8)},
        {"create": _widget("v1", "a", size=1), "expectedError": "already exists"},
        {"delete": {"name": "a"}},
        {"get": {"name": "a"}, "expectedError": "not found"},
        {"storedVersions": ["v1"]},
    ]


def _steps_of(suite: Json) -> list[Json]:
    steps: list[Json] = suite["tests"]["scenarios"][0]["steps"]
    return steps


def test_suites_are_collected_by_pytest(write: Write, tmp_path: Path) -> None:
    """The plugin collects a test for each case; a failure has the difference, and the place in the suite."""
    write(CASES.replace("colour: red", "colour: blue", 1))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "apiext.tools.testkit.pytest_plugin", str(tmp_path)]

    # the plugin may be installed, too
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=alone)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 3 passed" in done.stdout
    assert "+  colour: red" in done.stdout
    assert f"{tmp_path / 'widgets.testsuite.yaml'}:6:" in done.stdout
