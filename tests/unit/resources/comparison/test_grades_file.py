"""Files of grades."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from apiext.base.meta.configuration import ConfigurationError
from apiext.resources.comparison.change import Grade
from apiext.resources.comparison.grades import ExceptionAt, Grades, GradesAt, Place, grades_schema, named_grades, read_grades
from apiext.resources.comparison.rules import RULES

FULL = """
rules:
  descriptionChanged: warning
  enumValueAdded: ignore
places:
- definition: "*.example.com"
  version: v1alpha*
  path: spec.experimental
  rules: {fieldRemoved: note}
exceptions:
- definition: widgets.example.com
  version: v1
  path: spec.size
  rules: [fieldRemoved]
  reason: nobody set it
- path: status
  reason: only the controller reads it
compareConvertedVersions: true
"""


def read(folder: Path, text: str) -> Grades:
    """Return the grades of a file with this text."""
    path = folder / "grades.yaml"
    path.write_text(text)
    return read_grades(path)


def test_the_schema_knows_all_rules() -> None:
    """Have a valid schema that lists every rule, and describes every member."""
    schema: Any = grades_schema()

    Draft202012Validator.check_schema(dict(schema))
    assert schema["$defs"]["rule"]["enum"] == sorted(RULES)
    assert [name for name, member in schema["properties"].items() if "description" not in member] == []


def test_a_full_file(tmp_path: Path) -> None:
    """Read every member of a file."""
    assert read(tmp_path, FULL) == Grades(
        {"descriptionChanged": Grade.WARNING, "enumValueAdded": Grade.IGNORE},
        (GradesAt(Place("*.example.com", "v1alpha*", "spec.experimental"), {"fieldRemoved": Grade.NOTE}),),
        (
            ExceptionAt(Place("widgets.example.com", "v1", "spec.size"), frozenset({"fieldRemoved"}), "nobody set it"),
            ExceptionAt(Place(path="status"), frozenset(), "only the controller reads it"),
        ),
        compares_converted_versions=True,
    )


def test_an_empty_file(tmp_path: Path) -> None:
    """Read a file without members as the rules' own grades."""
    assert read(tmp_path, "{}") == Grades()


def test_base(tmp_path: Path) -> None:
    """Change the grades of crdify or OLM."""
    found = read(tmp_path, "base: olm\nrules: {fieldRemoved: note}")

    assert found.rules == {**named_grades("olm").rules, "fieldRemoved": Grade.NOTE}
    assert found.compares_converted_versions is False
    assert read(tmp_path, "base: crdify").compares_converted_versions is True


def test_a_file_of_crdify(tmp_path: Path) -> None:
    """Recognize a configuration file of crdify."""
    text = "validations:\n- name: enum\n  enforcement: Warn\n  configuration: {additionPolicy: Allow}\nunhandledEnforcement: None"

    found = read(tmp_path, text)

    assert found.rules["enumValueRemoved"] is Grade.WARNING
    assert found.rules["enumValueAdded"] is Grade.IGNORE
    assert found.rules["formatChanged"] is Grade.IGNORE
    assert found.rules["fieldRemoved"] is Grade.ERROR


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[", "grades.yaml: invalid YAML: "),
        ("- a", "grades.yaml: not of type object"),
        ("rules: {fieldRemoved: bad}", "grades.yaml: rules.fieldRemoved: 'bad' is not one of"),
        ("rules: {fieldLost: note}", "grades.yaml: rules: 'fieldLost' is not one of"),
        ("exceptions: [{path: spec}]", "grades.yaml: exceptions[0]: 'reason' is a required property"),
        ("places: [{path: 1, rules: {}}]", "grades.yaml: places[0].path: not of type string"),
        ("base: x", "grades.yaml: base: 'x' is not one of"),
        ("grades: {}", "grades.yaml: Additional properties are not allowed ('grades' was unexpected)"),
        ("validations: [{name: x, enforcement: Error}]", "grades.yaml: validations[0].name: 'x' is not one of"),
        ("validations: [{name: enum}]", "grades.yaml: validations[0]: 'enforcement' is a required property"),
        ("unhandledEnforcement: error", "grades.yaml: unhandledEnforcement: 'error' is not one of"),
    ],
)
def test_invalid_files(tmp_path: Path, text: str, expected: str) -> None:
    """Refuse a file with one line: its name, the path and the reason."""
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text)

    assert str(caught.value).startswith(f"{tmp_path}/{expected}")
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    """Say that the file is not there."""
    with pytest.raises(ConfigurationError, match=r"none\.yaml: No such file or directory"):
        read_grades(tmp_path / "none.yaml")


def test_unknown_names() -> None:
    """Raise KeyError for grades that do not exist."""
    with pytest.raises(KeyError):
        named_grades("x")
