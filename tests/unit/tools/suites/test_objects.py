"""Objects of cases."""

from typing import Any

import pytest

from apiext.tools.suites.case_run import expected_form, stable_text
from apiext.tools.suites.objects import CaseObjectError, case_object, difference, differs, named_as, parse_object


@pytest.mark.parametrize("given,expected", [(None, {}), ("", {}), ("a: 1.0", {"a": 1}), ({"a": {}}, {"a": {}}), ("a: 1:30", {"a": "1:30"})])
def test_objects(given: Any, expected: Any) -> None:
    """An object is a text with YAML, or itself; whole numbers are integers."""
    assert parse_object(given) == expected


@pytest.mark.parametrize("given", ["a: [", "[]", "x", "a: 1\n---\na: 2\n"])
def test_texts_that_are_no_objects(given: str) -> None:
    """What is no object is refused."""
    with pytest.raises(CaseObjectError, match="could not unmarshal raw YAML"):
        parse_object(given)


def test_cases_have_generated_names() -> None:
    """An object of a case gets a generated name, and the namespace default in any case."""
    assert case_object({"metadata": {"name": "a", "namespace": "b"}})["metadata"] == {
        "name": "a",
        "generateName": "test-",
        "namespace": "default",
    }


@pytest.mark.parametrize(
    "expected,found,is_other",
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1.0}, "metadata": {"uid": "u", "managedFields": []}}, False),
        ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {}}, True),
        ({"spec": {"a": True}}, {"spec": {"a": 1}, "metadata": {}}, True),
        ({"spec": {}}, {"metadata": {}}, True),
    ],
)
def test_comparison(expected: Any, found: Any, is_other: bool) -> None:  # noqa: FBT001
    """Metadata that servers set does not count; types do."""
    assert differs({"metadata": {}} | expected, found) is is_other


def test_names_are_taken_over() -> None:
    """The expected object gets the name and the namespace of the found one, or none."""
    assert named_as({"metadata": {"name": "x", "namespace": "y"}}, {"metadata": {"name": "a"}}) == {"metadata": {"name": "a"}}


def test_difference_shows_both() -> None:
    """The difference has the expected lines with -, the found ones with +."""
    lines = difference({"a": 1}, {"a": 2}).splitlines()

    assert [line for line in lines if line[:1] in "+-" and line[:3] not in {"---", "+++"}] == ["-a: 1", "+a: 2"]


def test_form_of_expectations() -> None:
    """A correction has a name only if the case gives one, and no name in an error."""
    found = {"metadata": {"name": "a", "namespace": "b", "uid": "c"}, "spec": {}}

    assert expected_form(found, {}) == {"spec": {}}
    assert expected_form(found, {"metadata": {"name": "x"}}) == {"metadata": {"name": "a"}, "spec": {}}
    assert stable_text('Widget.example.com "test-x1" is invalid: spec.a: Required value') == "spec.a: Required value"
