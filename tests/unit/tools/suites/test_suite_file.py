"""Suite files and their schema."""

from pathlib import Path

import pytest

from apiext.tools.suites.model import CaseKind, SuiteError
from apiext.tools.suites.suite_file import SuiteFiles, schema

MINIMAL = "crdName: widgets.example.com\n"


def _write(folder: Path, text: str) -> Path:
    path = folder / "a.testsuite.yaml"
    path.write_text(text)
    return path


def test_suite_of_openshift(tmp_path: Path) -> None:
    """A file has its cases with lines; unknown members are warnings with their line."""
    head = f"apiVersion: x # hack\nname: Widgets\n{MINIMAL}featureGates: [A, -B]\nfeatureGate: C\n"
    text = f"{head}tests:\n  onCreate:\n  - name: one\n    initial: ''\n"
    suite = SuiteFiles().read(_write(tmp_path, text))

    (case,) = suite.cases
    assert (suite.name, suite.crd_name, suite.feature_gates) == ("Widgets", "widgets.example.com", ("A", "-B"))
    assert (case.kind, case.name, case.line) == (CaseKind.ON_CREATE, "one", 8)
    assert suite.warnings == [f"{suite.path}:5: unknown member 'featureGate'"]


def test_places_are_relative_to_the_file(tmp_path: Path) -> None:
    """Manifests and the CA are found from the folder of the suite; the name is that of the file."""
    text = f"{MINIMAL}crds: [../crds]\nconversion: {{webhookURL: 'https://h/c', caFile: ca.crt}}\ntests: {{}}\n"
    suite = SuiteFiles().read(_write(tmp_path, text))

    assert suite.crds == (tmp_path / "../crds",)
    assert suite.conversion == {"webhookURL": "https://h/c", "caFile": str(tmp_path / "ca.crt")}
    assert suite.name == "a"


def test_older_suite_of_openshift(tmp_path: Path) -> None:
    """A file may name the manifest of its CRD in place of the CRD."""
    suite = SuiteFiles().read(_write(tmp_path, "name: Widgets\ncrd: 00_widgets.crd.yaml\ntests: {}\n"))

    assert (suite.crd_name, suite.crds, suite.warnings) == ("", (tmp_path / "00_widgets.crd.yaml",), [])


@pytest.mark.parametrize(
    "text,message",
    [
        ("tests: {}\n", "1: a suite has crdName, or crd as in the older form of openshift/api"),
        (f"{MINIMAL}tests: {{}}\n---\n{MINIMAL}", " line 4: another document begins"),
        (f"{MINIMAL}tests:\n  onCreate:\n  - initial: x\n", "4: tests.onCreate[0]: 'name' is a required property"),
        (
            f"{MINIMAL}tests:\n  scenarios:\n  - name: a\n    steps:\n    - expected: x\n",
            "6: tests.scenarios[0].steps[0]: a step has one of create",
        ),
        (f"{MINIMAL}tests:\n  onUpdate:\n  - name: a\n    initial: 1\n    updated: ''\n", "5: tests.onUpdate[0].initial: 1 is not of type"),
        ("a: [\n", " line 2: "),
    ],
)
def test_mistakes_have_file_and_line(text: str, message: str, tmp_path: Path) -> None:
    """A file that does not follow the schema is refused, with its first mistake."""
    path = _write(tmp_path, text)

    with pytest.raises(SuiteError) as caught:
        SuiteFiles().read(path)

    assert str(caught.value).startswith(f"{path}:{message}")


def test_missing_file(tmp_path: Path) -> None:
    """A file that cannot be read is an error."""
    with pytest.raises(SuiteError, match="No such file"):
        SuiteFiles().read(tmp_path / "none.yaml")


def test_schema_describes_itself() -> None:
    """The schema is valid."""
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(schema())
