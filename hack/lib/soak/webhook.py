"""A conversion webhook whose answer depends on the path: correct, slow, wrong, or far too large."""

import json
import sys
from collections.abc import Callable
from typing import Any, Final

from hack.lib.servers.webhook_server import serve
from hack.lib.soak.review_handler import LARGE_BYTES, ReviewHandler, filled, mark

_MANY: Final = 10_000
_LABELS: Final = 2_000

Change = Callable[[dict[str, Any]], None]


class _Handler(ReviewHandler):
    def answer(self, how: str, data: bytes) -> bytes:
        if how == "deep-object":
            return data.replace(b'"objects":', b'"a":%b,"objects":' % (b"[" * 200 + b"]" * 200))
        return _answer(data, _CHANGES[how])


def _answer(data: bytes, change: Change) -> bytes:
    """Return the answer to a review, with a change of the response."""
    review = json.loads(data)
    request = review.pop("request")
    converted = [{**obj, "apiVersion": request["desiredAPIVersion"]} for obj in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": converted, "result": {"status": "Success"}}
    change(response)
    return filled(review | {"response": response})


def _nothing(_response: dict[str, Any]) -> None:
    """Change nothing."""


def _grow(size: int) -> Change:
    """Return a change that makes the first object as large as this."""

    def change(response: dict[str, Any]) -> None:
        response["convertedObjects"][0].setdefault("spec", {})["grown"] = mark("list", size)

    return change


def _grow_all(response: dict[str, Any]) -> None:
    objects = response["convertedObjects"]
    for obj in objects:
        obj["spec"] = {"grown": mark("list", LARGE_BYTES // 2 // len(objects))}


def _multiply(response: dict[str, Any]) -> None:
    response["convertedObjects"] = mark("objects", _MANY)


def _lose(response: dict[str, Any]) -> None:
    del response["convertedObjects"][1:]


def _label(response: dict[str, Any]) -> None:
    for obj in response["convertedObjects"]:
        obj["metadata"]["labels"] = mark("labels", _LABELS)


def _explain(response: dict[str, Any]) -> None:
    response["result"] = {"status": "Failure", "message": mark("lines", LARGE_BYTES)}


def _rename(response: dict[str, Any]) -> None:
    for obj in response["convertedObjects"]:
        obj["metadata"]["name"] = "x" * 10_000


def _identify(response: dict[str, Any]) -> None:
    response["uid"] = mark("controls", LARGE_BYTES)


_CHANGES: Final[dict[str, Change]] = {
    "well": _nothing,
    "large": _grow(LARGE_BYTES - (1 << 20)),
    "too-large": _grow(LARGE_BYTES),
    "grown": _grow_all,
    "many": _multiply,
    "few": _lose,
    "labels": _label,
    "message": _explain,
    "names": _rename,
    "uid": _identify,
}
LARGE: Final = ("large", "too-large", "grown", "many", "message", "uid", "text", "bomb", "refusal", "retry")
"""Paths of large answers."""
ODD: Final = ("deep", "deep-object", "syntax", "brackets", "empty", "few", "labels", "names", "chunks", "break")
"""Paths of wrong answers."""
SLOW: Final = ("hang", "drip")


if __name__ == "__main__":
    serve(_Handler, *sys.argv[1:])
