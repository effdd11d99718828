"""Answers of conversion webhooks: right, wrong and broken ones."""

import json
from collections.abc import Callable
from typing import Any, Final

from tests.support.conversion_webhook import BREAK, Call, Json, Reply, failing, reviewed

GROUP: Final = "conversion.example.com"


def _members(**members: Any) -> Callable[[Call], Json]:
    """Return an answer whose review has other members."""
    return lambda call: reviewed(call, _in_v2(call)) | members


def _response(**members: Any) -> Callable[[Call], Json]:
    return lambda call: reviewed(call, _in_v2(call), **members)


def _result(**members: Any) -> Callable[[Call], Json]:
    return lambda call: reviewed(call, _in_v2(call), result=members)


def _object(**members: Any) -> Callable[[Call], Json]:
    """Return an answer whose objects have other members; None removes a member."""

    def answer(call: Call) -> Json:
        found = [{key: value for key, value in (obj | members).items() if value is not None} for obj in _in_v2(call)]
        return reviewed(call, found)

    return answer


def _metadata(**members: Any) -> Callable[[Call], Json]:
    return lambda call: reviewed(call, [obj | {"metadata": obj["metadata"] | members} for obj in _in_v2(call)])


def _in_v2(call: Call) -> list[Json]:
    return [obj | {"apiVersion": call.review["request"]["desiredAPIVersion"]} for obj in call.objects]


def _text(body: bytes, code: int = 200, content_type: str = "application/json", **headers: str) -> Callable[[Call], Reply]:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _call: Reply(body, code, ({"Content-Type": content_type} if content_type else {}) | shown)


STATUS: Final = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "not today", "code": 403}
ANSWERS: Final[dict[str, Callable[[Call], Reply | Json]]] = {
    "no group": _members(apiVersion="v1"),
    "another group": _members(apiVersion="example.com/v1"),
    "no version": _members(apiVersion=""),
    "malformed version": _members(apiVersion="a/b/c"),
    "v1beta1": _members(apiVersion="apiextensions.k8s.io/v1beta1"),
    "number as version": _members(apiVersion=1),
    "another kind": _members(kind="AdmissionReview"),
    "no kind": _members(kind=""),
    "null response": _members(response=None),
    "text response": _members(response="x"),
    "unknown members": _members(more={"a": 1}),
    "another uid": _response(uid="x"),
    "no uid": _response(uid=""),
    "number uid": _response(uid=1),
    "no objects": _response(convertedObjects=[]),
    "null objects": _response(convertedObjects=None),
    "object of objects": _response(convertedObjects={}),
    "two objects": lambda call: reviewed(call, _in_v2(call) * 2),
    "null object": _response(convertedObjects=[None]),
    "text object": _response(convertedObjects=["x"]),
    "number object": _response(convertedObjects=[1]),
    "list object": _response(convertedObjects=[[]]),
    "empty object": _response(convertedObjects=[{}]),
    "failure": failing(),
    "failure with message": failing("cannot"),
    "other status": failing(status="success"),
    "no status": _result(),
    "message only": _result(message="hm"),
    "number status": _result(status=1),
    "number message": _result(status="Failure", message=1),
    "text code": _result(status="Success", code="1"),
    "not converted": lambda call: reviewed(call, call.objects),
    "another version": _object(apiVersion=f"{GROUP}/v3"),
    "without version": _object(apiVersion=None),
    "odd version": _object(apiVersion="a/b/c"),
    "number version": _object(apiVersion=1),
    "kind of object": _object(kind="Other"),
    "without kind": _object(kind=None),
    "without metadata": _object(metadata=None),
    "text metadata": _object(metadata="x"),
    "name": _metadata(name="b"),
    "number name": _metadata(name=1),
    "namespace": _metadata(namespace="other"),
    "uid": _metadata(uid="x"),
    "text labels": _metadata(labels="x"),
    "number label": _metadata(labels={"a": 1}),
    "null label": _metadata(labels={"a": None}),
    "invalid label": _metadata(labels={"a b": "c"}),
    "invalid labels": _metadata(labels={"a b": "c", "-": "x y"}),
    "list annotations": _metadata(annotations=["x"]),
    "invalid annotation": _metadata(annotations={"a b": "c"}),
    "map annotation": _metadata(annotations={"a": {}}),
    "break": lambda _call: BREAK,
    "no body": _text(b""),
    "no body, plain": _text(b"", content_type="text/plain"),
    "text body": _text(b"hello", content_type="text/plain"),
    "html body": _text(b"<html>\n<body>x</body>\n</html>", content_type="text/html"),
    "list body": _text(b"[]"),
    "string body": _text(b'"x"'),
    "number body": _text(b"1"),
    "null body": _text(b"null"),
    "object body": _text(b"{}"),
    "broken body": _text(b'{"apiVersion":'),
    "broken syntax": _text(b'{"a":x}'),
    "short body": lambda _call: Reply(b"x", 200, {"Content-Length": "10", "Connection": "close"}),
    "400": _text(b"oops", 400, "text/plain"),
    "401": _text(b"oops", 401, "text/plain"),
    "403": _text(b" oops \n", 403, "text/plain"),
    "403 json": _text(b'{"a":1}', 403),
    "404": _text(b"404 page not found", 404, "text/plain"),
    "405": _text(b"", 405, ""),
    "406": _text(b"", 406, ""),
    "406 text": _text(b"not that", 406, "text/plain"),
    "409": _text(b"", 409, ""),
    "413": _text(b"too large", 413, "text/plain"),
    "415": _text(b"not that", 415, "text/plain; charset=utf-8"),
    "418": _text(b"tea", 418, "text/plain"),
    "422": _text(b"x", 422, "text/plain"),
    "429": _text(b"x", 429, "text/plain"),
    "500": _text(b'a\n"b"', 500, "text/plain"),
    "500 long": _text(b"x" * 3000, 500, "text/plain"),
    "500 json": _text(b"{}", 500),
    "500 without type": _text(b"plain", 500, ""),
    "503": _text(b"x", 503, "text/html"),
    "504": _text(b"x", 504, "text/html"),
    "status 403": _text(json.dumps(STATUS).encode(), 403),
    "status 500": _text(json.dumps(STATUS | {"message": ""}).encode(), 500),
    "status without version": _text(json.dumps({key: STATUS[key] for key in ("kind", "status", "message")}).encode(), 500),
    "status without kind": _text(json.dumps({key: STATUS[key] for key in ("apiVersion", "status", "message")}).encode(), 500),
    "status success": _text(json.dumps(STATUS | {"status": "Success"}).encode(), 500),
    "302": _text(b"", 302, ""),
    "304": _text(b"", 304, ""),
    "retry": _text(b"", 503, "text/plain", Retry_After="0"),
    "redirects": _text(b"", 307, "", Location="/convert"),
    "redirect to http": _text(b"", 307, "", Location="http://127.0.0.1:1/convert"),
}
