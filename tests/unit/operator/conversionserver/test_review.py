"""Reviews as kube-apiserver sends them, and their answers."""

import json
from typing import Any

import pytest

from apiext.operator.conversionserver import review as reviews
from apiext.operator.conversionserver.review import MalformedReviewError, name_of, object_problem, read_review
from tests.support.event_loop import turns_of
from tests.unit.operator.conversionserver.parts import GROUP, encoded, review, widget


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_reads_a_review(version: str) -> None:
    """Return uid, target and objects of both versions."""
    found = await read_review(encoded(review([widget()], version=version)))

    assert (found.api_version, found.uid, found.target, found.group) == (
        f"apiextensions.k8s.io/{version}",
        "the-uid",
        f"{GROUP}/v2",
        GROUP,
    )
    assert list(found.objects) == [widget()]


BAD = {
    "text": b"what",
    "empty": b"",
    "list": b"[]",
    "deep": b"[" * 5000 + b"]" * 5000,
    "kind": encoded({**review([]), "kind": "AdmissionReview"}),
    "version": encoded(review([], version="v2")),
    "group": encoded({**review([]), "apiVersion": "example.com/v1"}),
    "version of another type": encoded({**review([]), "apiVersion": ["v1"]}),
    "request": encoded({**review([]), "request": None}),
    "uid": encoded(review([], uid=1)),
    "long uid": encoded(review([], uid="x" * 2000)),
    "target": encoded(review([], "v2")),
    "target of three parts": encoded(review([], "a/b/c")),
    "target of another type": encoded(review([], desiredAPIVersion={})),
    "objects": encoded(review({})),
    "no objects": encoded(review(None)),
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
async def test_refuses_what_is_no_review(body: bytes) -> None:
    """Raise an error for a body that has no uid to answer to."""
    with pytest.raises(MalformedReviewError):
        await read_review(body)


async def test_large_reviews_are_read_and_written_in_slices() -> None:
    """Let other tasks run while a large review is parsed, and while it is answered."""
    objects = [widget(f"w{number}", spec={"text": "x" * 500}) for number in range(10_000)]
    body = encoded(review(objects))
    found = await read_review(body)

    assert list(found.objects) == objects
    assert await turns_of(read_review(body)) > 1
    assert await turns_of(reviews.success(found, objects)) > 1


async def test_answers_in_the_version_of_the_review() -> None:
    """Return kind, version and uid of the review with the objects."""
    found = await read_review(encoded(review([widget()], version="v1beta1")))

    assert json.loads(b"".join(await reviews.success(found, [widget(), widget("b")]))) == {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "ConversionReview",
        "response": {
            "uid": "the-uid",
            "convertedObjects": [widget(), widget("b")],
            "result": {"metadata": {}, "status": "Success"},
        },
    }


async def test_a_failure_says_why() -> None:
    """Return a failed Status with the message, and no object."""
    found = await read_review(encoded(review([widget()])))

    response = json.loads(b"".join(reviews.failure(found, 'it "fails"')))["response"]

    assert (response["uid"], response["convertedObjects"]) == ("the-uid", [])
    assert (response["result"]["status"], response["result"]["message"]) == ("Failure", 'it "fails"')


def _deep() -> Any:
    value: Any = {}
    for _ in range(300):
        value = {"a": value}
    return value


PROBLEMS = {
    "null": (None, "an object", "it is not an object"),
    "text": ("w", "an object", "it is not an object"),
    "empty": ({}, "an object", "it has no apiVersion or no kind"),
    "no kind": ({"apiVersion": "a/v1", "metadata": {"name": "n"}}, "an object n", "it has no apiVersion or no kind"),
    "numbers": ({"apiVersion": 1, "kind": "W", "metadata": {"name": 1}}, "W", "it has no apiVersion or no kind"),
    "group": ({**widget(), "apiVersion": "other/v1"}, "Widget default/w", "its apiVersion other/v1 is not of the group example.com"),
    "no metadata": ({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {}}, "Widget", "it has no metadata"),
    "metadata": ({**widget(), "metadata": []}, "Widget", "its metadata is not an object"),
    "depth": (widget(spec=_deep()), "Widget default/w", "it is nested deeper than 200 levels"),
    "fine": (widget(), "Widget default/w", ""),
}


@pytest.mark.parametrize("found, name, problem", PROBLEMS.values(), ids=PROBLEMS)
def test_examines_objects(found: Any, name: str, problem: str) -> None:
    """Name an object, and say what is wrong with it."""
    assert (name_of(found), object_problem(found, GROUP)) == (name, problem)
