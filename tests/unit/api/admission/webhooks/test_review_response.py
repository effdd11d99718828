"""Answers of webhooks, as in request/admissionreview_test.go."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from apiext.api.admission.webhooks.review_response import InvalidResponseError, ReviewResponse, read_response
from apiext.base.webhook.review_type import HookReviewError

PATCH = base64.b64encode(b"[{}]").decode()
V1 = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}

HEAD = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def _verified(response: Any, version: str = "v1", head: dict[str, Any] = V1, *, mutating: bool = True) -> Any:
    return read_response(version, "u", json.dumps(head | {"response": response}).encode(), mutating=mutating)


@pytest.mark.parametrize(
    "response, mutating, problem",
    [
        (None, True, "webhook response was absent"),
        ({"uid": "x"}, True, 'expected response.uid="u", got "x"'),
        ({}, True, 'expected response.uid="u", got ""'),
        ({"uid": "u", "patch": PATCH}, True, "webhook returned response.patch but not response.patchType"),
        ({"uid": "u", "patchType": "JSONPatch"}, True, "webhook returned response.patchType but not response.patch"),
        ({"uid": "u", "patch": PATCH, "patchType": ""}, True, 'webhook returned invalid response.patchType of ""'),
        ({"uid": "u", "patch": PATCH}, False, "validating webhook may not return response.patch"),
        ({"uid": "u", "patchType": "JSONPatch"}, False, "validating webhook may not return response.patchType"),
    ],
)
def test_invalid_responses(response: Any, problem: str, *, mutating: bool) -> None:
    """Refuse a v1 review that does not answer the request."""
    with pytest.raises(InvalidResponseError) as caught:
        _verified(response, mutating=mutating)

    assert str(caught.value) == problem


@pytest.mark.parametrize(
    "head, found", [({}, "/, Kind="), ({"kind": "AdmissionReview"}, "/, Kind=AdmissionReview"), ({"apiVersion": V1["apiVersion"]}, "")]
)
def test_heads_of_v1(head: dict[str, Any], found: str) -> None:
    """A v1 review must name its version and kind, although it is decoded without them."""
    with pytest.raises(InvalidResponseError) as caught:
        _verified({"uid": "u"}, head=head)

    found = found or "admission.k8s.io/v1, Kind="
    assert str(caught.value) == f"expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {found}"


@pytest.mark.parametrize(
    "answer, decoded",
    [
        (b"apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {uid: u, allowed: true}", True),
        (b"a: &a [1]\nb: *a", False),
        (b"[unclosed", False),
    ],
)
def test_yaml(answer: bytes, *, decoded: bool) -> None:
    """Read an answer in YAML, but none with aliases."""
    if decoded:
        assert read_response("v1", "u", answer, mutating=True).allowed
        return
    with pytest.raises(HookReviewError, match="cannot unmarshal string"):
        read_response("v1", "u", answer, mutating=True)


def test_texts_that_are_not_utf8() -> None:
    """Read an answer whose texts contain other bytes, or half of a surrogate pair, as Go does."""
    head = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":'

    found = read_response("v1", "u", head + b'{"uid":"u","allowed":false,"status":{"message":"a\xff\\ud800"}}}', mutating=True)

    assert found.status is not None
    assert found.status["message"] == "a\ufffd\ufffd"


@pytest.mark.parametrize("status", [None, {"metadata": {}, "code": 200}, {"metadata": {}, "code": 200, "message": "m"}])
def test_usual_answers(status: Any) -> None:
    """Read the answers of Go's libraries that allow a write, with a canonical Status if it says more than that."""
    response = {"uid": "u", "allowed": True} | ({"status": status} if status else {})
    found = ReviewResponse(allowed=True, patch=b"", patch_type="", status=None, warnings=(), annotations={})

    answer = _verified(response)

    assert (answer.status or {}).get("message") == (status or {}).get("message")
    assert replace(answer, status=None) == found


@pytest.mark.parametrize(
    "response, problem",
    [
        ({"allowed": 1}, "cannot unmarshal number into Go struct field AdmissionResponse.response.allowed of type bool"),
        ({"status": {"metadata": {}, "code": 200.5}}, "cannot unmarshal number 200.5 into Go struct field Status.response.status.code"),
        ({"status": {"metadata": [], "code": 200}}, "cannot unmarshal array into Go struct field Status.response.status.metadata"),
    ],
)
def test_nearly_usual_answers(response: dict[str, Any], problem: str) -> None:
    """Refuse an answer that differs from the usual one in the type of a member."""
    with pytest.raises(HookReviewError, match=problem):
        _verified({"uid": "u", "allowed": True} | response)


def test_reviews_of_v1beta1() -> None:
    """A v1beta1 review may have another uid, no head, and any patch type; its patch counts only for mutating webhooks."""
    mutating = _verified({"uid": "x", "allowed": True, "patch": PATCH}, "v1beta1", {})
    validating = _verified({"allowed": True, "patch": PATCH, "patchType": "x"}, "v1beta1", {}, mutating=False)

    assert (mutating.patch, mutating.patch_type) == (b"[{}]", "JSONPatch")
    assert (validating.allowed, validating.patch) == (True, b"")


@pytest.mark.parametrize(
    "answer, problem",
    [
        (b"{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (
            b"text",
            f"couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type {HEAD}",
        ),
        (
            b'{"kind":"Widget","apiVersion":"example.com/v1"}',
            'no kind "Widget" is registered for version "example.com/v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
        (
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}',
            "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            b'{"kind":"Status","apiVersion":"v1","status":"Failure"}',
            "converting (v1.Status) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            b'{"response":{"allowed":"yes"}}',
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
        ),
        (b'{"response":{"patch":"%"}}', "illegal base64 data at input byte 0"),
        (b'{"response":{"allowed":1e400}}', "json: cannot unmarshal a number beyond float64"),
    ],
)
def test_undecodable_answers(answer: bytes, problem: str) -> None:
    """Refuse an answer that is no review, in the reference's words."""
    with pytest.raises(HookReviewError) as caught:
        read_response("v1", "u", answer, mutating=True)

    assert str(caught.value) == problem
