"""Answers of admission webhooks: right, wrong and broken ones."""

import base64
import json
from typing import Any, Final

from tests.support.admission_webhook import AdmissionAnswer, AdmissionCall, answering, denying, encoded, patching
from tests.support.scripted_webhook import BREAK, Json, Reply

ADD: Final = {"op": "add", "path": "/spec/text", "value": "patched"}


def text(body: bytes, code: int = 200, content_type: str = "application/json", **headers: str) -> AdmissionAnswer:
    """Return an answer with any body."""
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _call: Reply(body, code, ({"Content-Type": content_type} if content_type else {}) | shown)


def _raw(**members: Any) -> AdmissionAnswer:
    """Return an answer whose response has exactly these members, and the uid."""

    def answer(call: AdmissionCall) -> Json:
        response = {"uid": call.request["uid"]} | members
        return {"apiVersion": call.review["apiVersion"], "kind": "AdmissionReview", "response": response}

    return answer


def _echo(call: AdmissionCall) -> Json:
    """Return the review with its request, as some webhooks do."""
    return call.review | {"response": {"uid": call.request["uid"], "allowed": True}}


def _patch(data: bytes) -> AdmissionAnswer:
    return answering(patchType="JSONPatch", patch=base64.b64encode(data).decode())


def _set(path: str, value: Any, operation: str = "add") -> AdmissionAnswer:
    return patching({"op": operation, "path": path, "value": value})


REVIEWS: Final[dict[str, AdmissionAnswer]] = {
    "allow": answering(),
    "echo": _echo,
    "unknown members": answering({"more": 1}, other="x"),
    "no group": answering({"apiVersion": "v1"}),
    "another group": answering({"apiVersion": "example.com/v1"}),
    "no version": answering({"apiVersion": ""}),
    "without version": answering({"apiVersion": None}),
    "malformed version": answering({"apiVersion": "a/b/c"}),
    "number as version": answering({"apiVersion": 1}),
    "v1": answering({"apiVersion": "admission.k8s.io/v1"}),
    "v1beta1": answering({"apiVersion": "admission.k8s.io/v1beta1"}),
    "v1alpha1": answering({"apiVersion": "admission.k8s.io/v1alpha1"}),
    "another kind": answering({"kind": "ConversionReview"}),
    "status": answering({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": 403}),
    "no kind": answering({"kind": ""}),
    "without kind": answering({"kind": None}),
    "no response": answering({"response": None}),
    "text response": answering({"response": "x"}),
    "list response": answering({"response": []}),
    "empty response": answering({"response": {}}),
    "another uid": answering(uid="x"),
    "no uid": answering(uid=""),
    "number uid": answering(uid=1),
    "without allowed": answering(allowed=None),
    "text allowed": answering(allowed="true"),
    "upper case": _raw(Allowed=True),
    "denied and upper case": _raw(allowed=False, Allowed=True),
    "audit annotations": answering(auditAnnotations={"a": "b", "c/d": "e"}),
    "text audit annotations": answering(auditAnnotations="x"),
    "number audit annotation": answering(auditAnnotations={"a": 1}),
    "text warnings": answering(warnings="x"),
    "number warning": answering(warnings=[1]),
    "patch": patching(ADD),
    "patch without type": patching(ADD, patchType=None),
    "patch of another type": patching(ADD, patchType="Other"),
    "patch of empty type": patching(ADD, patchType=""),
    "type without patch": answering(patchType="JSONPatch"),
    "type with empty patch": answering(patchType="JSONPatch", patch=""),
    "empty type": answering(patchType=""),
    "merge patch": answering(patchType="MergePatch", patch=base64.b64encode(b'{"spec":{}}').decode()),
    "patch and denial": patching(ADD, allowed=False),
    "patch as list": answering(patchType="JSONPatch", patch=[ADD]),
    "patch not encoded": answering(patchType="JSONPatch", patch=json.dumps([ADD])),
    "patch with line ends": answering(patchType="JSONPatch", patch=encoded([ADD])[:20] + "\n" + encoded([ADD])[20:]),
    "patch with url alphabet": answering(patchType="JSONPatch", patch="W10_-"),
    "status of an allowed": answering(status={"message": "fine", "code": 418}),
    "text status": answering(status="x"),
    "text code": denying("x", code="403"),
    "number message": _raw(allowed=False, status={"message": 1}),
}
"""Reviews; the servers refuse some."""

DENIALS: Final[dict[str, AdmissionAnswer]] = {
    "bare": denying(),
    "empty status": _raw(allowed=False, status={}),
    "message": denying("not today"),
    "reason": denying(reason="Forbidden"),
    "message and reason": denying("not today", reason="NotAcceptable"),
    "unknown reason": denying("no", reason="Because"),
    "code 200": denying("no", code=200),
    "code 302": denying("no", code=302),
    "code 399": denying("no", code=399),
    "code 400": denying("no", code=400),
    "code 401": denying("no", code=401),
    "code 403": denying("no", code=403),
    "code 404": denying("no", code=404, reason="NotFound"),
    "code 409": denying("no", code=409, reason="Conflict"),
    "code 409 already": denying("no", code=409, reason="AlreadyExists"),
    "code 410": denying("no", code=410, reason="Gone"),
    "code 422": denying("no", code=422, reason="Invalid"),
    "code 429": denying("no", code=429, reason="TooManyRequests", details={"retryAfterSeconds": 7}),
    "code 500": denying("no", code=500, reason="InternalError"),
    "code 503": denying("no", code=503),
    "code 504": denying("no", code=504, reason="Timeout"),
    "code 999": denying("no", code=999),
    "code -1": denying("no", code=-1),
    "success": denying("no", status="Success"),
    "failure": denying("no", status="Failure"),
    "other status": denying("no", status="Maybe"),
    "details": denying(
        "no",
        reason="Invalid",
        code=422,
        details={
            "name": "x",
            "group": "g",
            "kind": "k",
            "uid": "u",
            "causes": [{"reason": "FieldValueInvalid", "message": "bad", "field": "spec.text"}],
        },
    ),
    "unknown details": denying("no", details={"more": 1}, more=2),
    "text details": denying("no", details="x"),
    "metadata": denying("no", metadata={"resourceVersion": "7", "continue": "x", "remainingItemCount": 3}),
    "kind": denying("no", kind="Other", apiVersion="x/v2"),
    "unicode": denying('não ☃ \n\t\x01 "q" <b> &'),
    "long": denying("x" * 5000),
    "warnings": answering(allowed=False, status={"message": "no"}, warnings=["one", "two"]),
}
"""Denials."""

WARNINGS: Final[dict[str, AdmissionAnswer]] = {
    "none": answering(warnings=[]),
    "one": answering(warnings=["a warning"]),
    "twice": answering(warnings=["a warning", "a warning", "another"]),
    "empty": answering(warnings=["", "x"]),
    "quotes": answering(warnings=['say "x" \\ and\ttab']),
    "control": answering(warnings=["a\x00b\x01c\x7fd\r\ne"]),
    "unicode": answering(warnings=["é ☃ 𝄞"]),
    "long": answering(warnings=["x" * 300, "y" * 3000]),
    "many": answering(warnings=[f"{number} {'z' * 200}" for number in range(40)]),
    "null": answering(warnings=[None, "x"]),
}
"""Warnings."""

BODIES: Final[dict[str, AdmissionAnswer]] = {
    "break": lambda _call: BREAK,
    "no body": text(b""),
    "no body, plain": text(b"", content_type="text/plain"),
    "text": text(b"hello", content_type="text/plain"),
    "html": text(b"<html>\n<body>x</body>\n</html>", content_type="text/html"),
    "list": text(b"[]"),
    "string": text(b'"x"'),
    "number": text(b"1"),
    "null": text(b"null"),
    "object": text(b"{}"),
    "broken": text(b'{"apiVersion":'),
    "not UTF-8": lambda call: Reply(json.dumps(denying("no \ud800")(call)).encode().replace(b'"no ', b'"\xff '), 200, {}),
    "short": lambda _call: Reply(b"x", 200, {"Content-Length": "10", "Connection": "close"}),
    "json as text": lambda call: Reply(json.dumps(answering()(call)).encode(), 200, {"Content-Type": "text/plain"}),
    "json without type": lambda call: Reply(json.dumps(answering()(call)).encode(), 200, {}),
    "201": lambda call: Reply(json.dumps(answering()(call)).encode(), 201, {"Content-Type": "application/json"}),
    "204": text(b"", 204),
    "400": text(b"oops", 400, "text/plain"),
    "401": text(b"oops", 401, "text/plain"),
    "403": text(b" oops \n", 403, "text/plain"),
    "404": text(b"404 page not found", 404, "text/plain"),
    "405": text(b"", 405, ""),
    "409": text(b"", 409, ""),
    "413": text(b"too large", 413, "text/plain"),
    "415": text(b"not that", 415, "text/plain; charset=utf-8"),
    "422": text(b"x", 422, "text/plain"),
    "429": text(b"x", 429, "text/plain"),
    "500": text(b'a\n"b"', 500, "text/plain"),
    "500 long": text(b"x" * 3000, 500, "text/plain"),
    "500 json": text(b"{}", 500),
    "500 allowed": lambda call: Reply(json.dumps(answering()(call)).encode(), 500, {"Content-Type": "application/json"}),
    "500 without type": text(b"plain", 500, ""),
    "503": text(b"x", 503, "text/html"),
    "504": text(b"x", 504, "text/html"),
    "status 403": text(b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not today","code":403}', 403),
    "status 500": text(b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"","code":403}', 500),
    "302": text(b"", 302, ""),
    "304": text(b"", 304, ""),
}
"""Responses that are no reviews."""

PATCHES: Final[dict[str, AdmissionAnswer]] = {
    "empty": patching(),
    "null": _patch(b"null"),
    "object": _patch(b"{}"),
    "text": _patch(b'"x"'),
    "number": _patch(b"1"),
    "broken": _patch(b"[{"),
    "not json": _patch(b"\xff\xfe"),
    "not UTF-8": _patch(b'[{"op": "add", "path": "/spec/text", "value": "\xff \\ud800"}]'),
    "list of texts": _patch(b'["x"]'),
    "list of null": _patch(b"[null]"),
    "operation without name": patching({"path": "/spec/text", "value": "x"}),
    "unknown operation": patching({"op": "nonsense", "path": "/spec/text"}),
    "number operation": patching({"op": 1, "path": "/spec/text"}),
    "without path": patching({"op": "add", "value": 1}),
    "path without slash": _set("spec", 1),
    "without value": patching({"op": "add", "path": "/spec/text"}),
    "null value": _set("/spec/text", None),
    "null for nullable": _set("/spec/maybe", None),
    "add": patching(ADD),
    "replace": _set("/spec/replicas", 3, "replace"),
    "replace missing": _set("/spec/number", 3, "replace"),
    "remove": patching({"op": "remove", "path": "/spec/replicas"}),
    "remove missing": patching({"op": "remove", "path": "/spec/number"}),
    "remove default": patching({"op": "remove", "path": "/spec/chosen"}),
    "remove spec": patching({"op": "remove", "path": "/spec"}),
    "empty spec": _set("/spec", {}, "replace"),
    "move": patching({"op": "move", "from": "/spec/text", "path": "/spec/maybe"}, ADD),
    "copy": patching({"op": "copy", "from": "/metadata/name", "path": "/spec/text"}),
    "copy missing": patching({"op": "copy", "from": "/spec/none", "path": "/spec/text"}),
    "test": patching({"op": "test", "path": "/metadata/name", "value": "a"}, ADD),
    "failing test": patching(ADD, {"op": "test", "path": "/metadata/name", "value": "z"}),
    "index": patching({"op": "add", "path": "/spec/plain", "value": ["x"]}, {"op": "add", "path": "/spec/plain/-", "value": "y"}),
    "index out of range": _set("/spec/plain/9", "y"),
    "escapes": patching(
        {"op": "add", "path": "/metadata/annotations", "value": {}}, {"op": "add", "path": "/metadata/annotations/a~1b", "value": "c"}
    ),
    "unknown field": _set("/spec/unknown", {"a": 1}),
    "unknown root field": _set("/unknown", 1),
    "free field": _set("/spec/free", {"a": {"b": [1, 2.5, None]}}),
    "default in new object": _set("/spec/deep", {"b": "x"}),
    "wrong type": _set("/spec/text", 7),
    "out of range": _set("/spec/replicas", 70),
    "wrong and unknown": patching({"op": "add", "path": "/spec/number", "value": "x"}, {"op": "add", "path": "/spec/more", "value": 1}),
    "duplicates in set": _set("/spec/texts", ["a", "a"]),
    "duplicate keys": _set("/spec/named", [{"name": "a"}, {"name": "a"}]),
    "key missing": _set("/spec/named", [{"value": "a"}]),
    "float": _set("/spec/number", 1.0),
    "large number": _set("/spec/number", 1e300),
    "large integer": _set("/spec/replicas", 2**63),
    "labels": _set("/metadata/labels", {"a": "b"}),
    "invalid labels": _set("/metadata/labels", {"a b": "c"}),
    "number labels": _set("/metadata/labels", {"a": 1}),
    "no metadata": patching({"op": "remove", "path": "/metadata"}),
    "name": _set("/metadata/name", "other", "replace"),
    "invalid name": _set("/metadata/name", "A b", "replace"),
    "namespace": _set("/metadata/namespace", "other", "replace"),
    "uid": _set("/metadata/uid", "other"),
    "resourceVersion": _set("/metadata/resourceVersion", "7"),
    "generation": _set("/metadata/generation", 7),
    "creationTimestamp": _set("/metadata/creationTimestamp", "2001-01-01T00:00:00Z"),
    "bad creationTimestamp": _set("/metadata/creationTimestamp", "x"),
    "deletionTimestamp": _set("/metadata/deletionTimestamp", "2001-01-01T00:00:00Z"),
    "finalizers": _set("/metadata/finalizers", ["x.y/z"]),
    "bad finalizers": _set("/metadata/finalizers", ["z"]),
    "owner": patching(
        {"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}
    ),
    "bad owner": _set("/metadata/ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "uid": "u"}]),
    "duplicate owners": patching(
        {"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}] * 2}
    ),
    "remove managedFields": patching({"op": "remove", "path": "/metadata/managedFields"}),
    "bad managedFields": _set("/metadata/managedFields", [{"manager": "x", "operation": "Odd"}]),
    "text managedFields": _set("/metadata/managedFields", "x"),
    "manager": _set("/metadata/managedFields/0/manager", "renamed", "replace"),
    "bad operation": _set("/metadata/managedFields/0/operation", "Odd", "replace"),
    "bad fields": _set("/metadata/managedFields/0/fieldsV1", {"x": {}}, "replace"),
    "bad fieldsType": _set("/metadata/managedFields/0/fieldsType", "FieldsV2", "replace"),
    "bad fields and text": patching({"op": "replace", "path": "/metadata/managedFields/0/fieldsV1", "value": {"x": {}}}, ADD),
    "apiVersion": _set("/apiVersion", "admission.example.com/v2", "replace"),
    "unknown apiVersion": _set("/apiVersion", "other.example.com/v9", "replace"),
    "odd apiVersion": _set("/apiVersion", "a/b/c", "replace"),
    "no apiVersion": patching({"op": "remove", "path": "/apiVersion"}),
    "kind": _set("/kind", "Plain", "replace"),
    "no kind": patching({"op": "remove", "path": "/kind"}),
    "status": _set("/status", {"phase": "x"}),
    "whole document": patching(
        {"op": "replace", "path": "", "value": {"apiVersion": "admission.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}}
    ),
    "whole document as text": _set("", "x", "replace"),
    "nothing changes": _set("/metadata/name", "a", "replace"),
    "hundred": patching(*({"op": "add", "path": "/metadata/annotations", "value": {f"a{number}": "x"}} for number in range(100))),
}
"""Patches."""
