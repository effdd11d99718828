"""Parsing of answers object by object."""

import json
from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.resources.conversion import review as review_parser
from tests.support.event_loop import turns_of

SEPARATORS = [(",", ":"), (", ", ": ")]


def converted(count: int, *, more: Any = None, text: str = "x" * 300) -> list[Any]:
    """Return objects, some with managedFields as webhooks return them."""
    managers = [{"apiVersion": "example.com/v2", "fieldsType": "FieldsV1"}] * 2
    return [
        {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": f"w{number}", "managedFields": managers}}
        | {"spec": {"text": text, "number": number, "float": 1.0, "more": more}}
        for number in range(count)
    ]


def answer(objects: list[Any], **members: Any) -> dict[str, Any]:
    """Return a review with these objects."""
    response = {"uid": "1", "convertedObjects": objects, "result": {"status": "Success", "message": "a]}, b"}}
    return {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"} | members | {"response": response}


NESTED = {"apiVersion": "example.com/v2", "kind": "Widget"}
ANSWERS = {
    "usual": answer(converted(200)),
    "wide characters": answer(converted(200, text="é" * 300)),
    "echo of the request": answer(converted(200), request={"objects": converted(200), "convertedObjects": converted(3)}),
    "embedded object": answer(converted(200, more=NESTED)),
    "embedded objects": answer(converted(200, more=[NESTED, NESTED])),
    "text like an object": answer(converted(200, more='},{"apiVersion":"example.com/v2","kind":"Widget"')),
    "other kinds": answer([*converted(100), None, 1, "text", [], {}, *converted(100)]),
    "one object": answer(converted(1, text="x" * 100_000)),
    "no objects": answer([], more="x" * 100_000),
    "no response": {"convertedObjects": converted(200), "response": None},
}


@pytest.mark.parametrize("separators", SEPARATORS, ids=["compact", "spaced"])
@pytest.mark.parametrize("review", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("ascii_only", [True, False])
async def test_the_value_is_that_of_the_whole(review: Any, separators: tuple[str, str], *, ascii_only: bool) -> None:
    """Return what parsing in one piece returns."""
    data = json.dumps(review, separators=separators, ensure_ascii=ascii_only).encode()

    assert await review_parser.parse(data) == json_codec.loads(data) == review


@pytest.mark.parametrize("cut", [1, 2, 3, 40, 60, 500, 20_000])
async def test_invalid_answers(cut: int) -> None:
    """Raise ValueError for an answer that ends early, wherever."""
    data = json.dumps(answer(converted(200))).encode()
    with pytest.raises(ValueError, match=r"."):
        await review_parser.parse(data[:-cut])


async def test_twice_the_same_member() -> None:
    """Read the last one of two members with the same name, as the reference does."""
    data = json.dumps(answer(converted(200))).encode().replace(b', "result"', b', "convertedObjects": [1], "result"')
    assert (await review_parser.parse(data))["response"]["convertedObjects"] == [1]


async def test_large_answers_are_parsed_in_slices() -> None:
    """Let other tasks run while a large answer is parsed."""
    data = json.dumps(answer(converted(20_000))).encode()
    assert await turns_of(review_parser.parse(data)) > 1
