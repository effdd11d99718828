"""An admission webhook whose answer depends on the path: correct, slow, wrong, or far too large."""

import base64
import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from hack.lib.servers.webhook_server import serve
from hack.lib.soak.review_handler import LARGE_BYTES, ReviewHandler, filled, mark

_HUGE_BYTES: Final = 100 << 20
_OPERATIONS: Final = 10_000
_DOUBLINGS: Final = 40
_LABELS: Final = 2_000
_WARNINGS: Final = 100_000

Json = dict[str, Any]


class _Handler(ReviewHandler):
    def answer(self, how: str, data: bytes) -> bytes:
        review = json.loads(data)
        uid = review.pop("request")["uid"]
        if how in PATCHES:
            response = {"uid": uid, "allowed": True, "patchType": "JSONPatch", "patch": _patch(how)}
        else:
            response = {"uid": uid, "allowed": True} | _RESPONSES[how]
        return filled(review | {"response": response})


@cache
def _patch(how: str) -> str:
    return base64.b64encode(json.dumps(_PATCHES[how]()).encode()).decode()


def _adds(path: str) -> Callable[[], Sequence[Json]]:
    """Return a patch of many additions at a path, in which {} is the number."""
    return lambda: [{"op": "add", "path": path.format(number), "value": number} for number in range(_OPERATIONS)]


def _list_then(path: str) -> Callable[[], Sequence[Json]]:
    return lambda: [{"op": "add", "path": "/spec/a", "value": []}, *_adds(path)()]


def _doubled() -> Sequence[Json]:
    """Return a patch that doubles an object many times."""
    first = {"op": "add", "path": "/spec/a", "value": {"b": "x" * 100}}
    return [first, *({"op": "copy", "from": "/spec/a", "path": f"/spec/a/c{number}"} for number in range(_DOUBLINGS))]


def _deep() -> Sequence[Json]:
    value: Any = 1
    for _ in range(400):
        value = {"a": [value]}
    return [{"op": "add", "path": "/spec/a", "value": value}]


def _large() -> Sequence[Json]:
    return [{"op": "add", "path": "/spec/a", "value": [{"a": "b"}] * (LARGE_BYTES // 12)}]


def _owners() -> Sequence[Json]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    return [{"op": "add", "path": "/metadata/ownerReferences", "value": [owner] * _OPERATIONS}]


def _managers() -> Sequence[Json]:
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}
    return [{"op": "add", "path": "/metadata/managedFields", "value": [entry | {"manager": f"m{number}"} for number in range(_OPERATIONS)]}]


_PATCHES: Final[dict[str, Callable[[], Sequence[Json]]]] = {
    "add-fields": _adds("/spec/a{}"),
    "insert-first": _list_then("/spec/a/0"),
    "append": _list_then("/spec/a/-"),
    "change-labels": _adds("/metadata/labels/a{}"),
    "remove-missing": lambda: [{"op": "remove", "path": "/spec/" + "a/" * _OPERATIONS}],
    "doubled": _doubled,
    "deep-patch": _deep,
    "large-patch": _large,
    "owners": _owners,
    "managers": _managers,
}
PATCHES: Final = tuple(_PATCHES)
"""Paths of patches."""
_RESPONSES: Final[dict[str, Json]] = {
    "well": {},
    "large": {"other": mark("list", LARGE_BYTES)},
    "huge": {"other": mark("list", _HUGE_BYTES)},
    "other-uid": {"uid": "x"},
    "uid": {"uid": mark("controls", LARGE_BYTES)},
    "denial": {"allowed": False, "status": {"message": mark("lines", LARGE_BYTES)}},
    "causes": {"allowed": False, "status": {"message": "no", "details": {"causes": mark("causes", _LABELS * 10)}}},
    "warnings": {"warnings": mark("texts", _WARNINGS)},
    "annotations": {"auditAnnotations": mark("labels", _LABELS * 10)},
    "patch-text": {"patchType": "JSONPatch", "patch": mark("controls", LARGE_BYTES)},
    "marker": {"allowed": False, "status": {"code": 418}},
}
LARGE: Final = ("large", "huge", "uid", "denial", "causes", "warnings", "annotations", "patch-text", "text", "bomb", "refusal", "retry")
"""Paths of large answers."""
ODD: Final = ("other-uid", "deep", "syntax", "brackets", "empty", "chunks", "break", "redirect")
"""Paths of wrong answers."""
SLOW: Final = ("hang", "drip")
MARKER: Final = "marker"
"""The path of a denial with code 418."""


if __name__ == "__main__":
    serve(_Handler, *sys.argv[1:])
