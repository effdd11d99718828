"""Verdicts on cases."""

from typing import Any

import pytest

from apiext.tools.suites.case_run import CaseFailure, CaseObservation, judge
from apiext.tools.suites.objects import case_object

OBJECT: dict[str, Any] = {"metadata": {"name": "a", "uid": "u"}, "spec": {"a": 1}}


@pytest.mark.parametrize(
    "spec,seen",
    [
        ({"expectedError": "bad"}, CaseObservation(error="it is bad")),
        ({"expected": "spec: {a: 1}"}, CaseObservation(object=OBJECT)),
        ({"expectedStatusError": "bad"}, CaseObservation(status_error="bad", has_status=True)),
        ({"expectedStatusError": "bad", "expected": "spec: {a: 1}"}, CaseObservation(object=OBJECT)),
    ],
)
def test_cases_that_pass(spec: Any, seen: CaseObservation) -> None:
    """An error has the text, an object is equal; without an update of the status its error is not looked at."""
    judge(spec, seen, case_object)


@pytest.mark.parametrize(
    "spec,seen,message",
    [
        ({"expectedError": "bad"}, CaseObservation(error="worse"), "expectedError: another error\n- bad\n+ worse"),
        ({"expectedError": "bad"}, CaseObservation(object=OBJECT), "expectedError: no error"),
        ({"expected": ""}, CaseObservation(error="bad"), "unexpected error: bad"),
        ({"expected": ""}, CaseObservation(object=OBJECT), "expected: the object differs"),
        ({"expected": "["}, CaseObservation(object=OBJECT), "expected: could not unmarshal"),
        ({}, CaseObservation(status_error="bad", has_status=True), "unexpected error of the update of status: bad"),
        ({"expectedStatusError": "bad"}, CaseObservation(object=OBJECT, has_status=True), "expectedStatusError: no error"),
    ],
)
def test_cases_that_fail(spec: Any, seen: CaseObservation, message: str) -> None:
    """What is not as expected is named."""
    with pytest.raises(CaseFailure) as caught:
        judge(spec, seen, case_object)

    assert str(caught.value).startswith(message)


def test_corrections() -> None:
    """A correction is the member with which the case passes."""
    assert CaseObservation(error="a").correction({}) == {"expectedError": "a"}
    assert CaseObservation(status_error="a", has_status=True).correction({}) == {"expectedStatusError": "a"}
    assert CaseObservation(object=OBJECT).correction({}) == {"expected": {"spec": {"a": 1}}}
