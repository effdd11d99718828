"""A conversion webhook whose answer depends on the path: correct, slow, wrong, or far too large.

Large parts of answers are prepared once and inserted for short marks, so that the webhook is faster than the server.
"""

import gzip
import json
import re
import sys
import time
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from hack.lib.servers.webhook_server import serve

_LARGE: Final = 16 << 20
"""Bytes of a large answer."""
_HANG: Final = 60.0
"""Seconds after which the connection of a missing answer ends: servers wait for 30."""
_DRIP: Final = 0.01
"""Seconds between two bytes of a slow answer."""
_LEVELS: Final = 100_000
_MANY: Final = 10_000
_LABELS: Final = 2_000
_MARK: Final = re.compile(rb'"<(\w+):(\d+)>"')
"""The mark for prepared JSON."""

Change = Callable[[dict[str, Any]], None]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        how = self.path.partition("?")[0].removeprefix("/")
        self.close_connection = True
        if how == "break":
            return
        if how == "hang":
            time.sleep(_HANG)
        elif how in _BODIES:
            self._send(_BODIES[how](data))
        elif how in {"drip", "chunks"}:
            self._send(_answer(data, _nothing), slowly=how == "drip")
        elif how == "bomb":
            self._send(_bomb(), encoding="gzip")
        elif how in {"refusal", "retry"}:
            self._send(_answer(data, _grow(_LARGE)), status=HTTPStatus.SERVICE_UNAVAILABLE, retry=how == "retry")
        else:
            self._send(_answer(data, _CHANGES[how]))

    def _send(
        self, body: bytes, *, status: int = HTTPStatus.OK, encoding: str = "", retry: bool = False, slowly: bool | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if encoding:
            self.send_header("Content-Encoding", encoding)
        if retry:
            self.send_header("Retry-After", "0")
        self.send_header(*(("Content-Length", str(len(body))) if slowly is None else ("Transfer-Encoding", "chunked")))
        self.end_headers()
        if slowly:
            for byte in body:
                self.wfile.write(b"1\r\n%c\r\n" % byte)
                time.sleep(_DRIP)
        self.wfile.write(body if slowly is None else b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def _answer(data: bytes, change: Change) -> bytes:
    """Return the answer to a review, with a change of the response."""
    review = json.loads(data)
    request = review.pop("request")
    converted = [{**obj, "apiVersion": request["desiredAPIVersion"]} for obj in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": converted, "result": {"status": "Success"}}
    change(response)
    return _MARK.sub(lambda mark: _prepared(*mark.groups()), json.dumps(review | {"response": response}).encode())


def _mark(kind: str, size: int) -> str:
    """Return the mark for prepared JSON."""
    return f"<{kind}:{size}>"


@cache
def _prepared(kind: bytes, size: bytes) -> bytes:
    """Return JSON of a size: bytes, objects, or members of an object."""
    count = int(size)
    match kind:
        case b"list":
            return b"[%b]" % b", ".join([b'{"a": "b"}'] * (count // len('{"a": "b"}, ')))
        case b"lines":
            return b'"%b"' % (b"<\\n" * (count // 4))
        case b"controls":
            return b'"%b"' % (b"\\u0001" * (count // 8))
        case b"objects":
            return json.dumps([{"metadata": {"name": "gadget-0"}, "spec": {"payload": "x" * 100}}] * count).encode()
        case _:
            return json.dumps({f"label-{number}": "!" * 100 for number in range(count)}).encode()


@cache
def _bomb() -> bytes:
    """Return a compressed answer that expands to far more than all others."""
    return gzip.compress(b'{"response": {"convertedObjects": [' + b'{"a": "b"}, ' * (4 * _LARGE // len('{"a": "b"}, ')) + b"{}]}}", 1)


def _nothing(_response: dict[str, Any]) -> None:
    """Change nothing."""


def _grow(size: int) -> Change:
    """Return a change that makes the first object as large as this."""

    def change(response: dict[str, Any]) -> None:
        response["convertedObjects"][0].setdefault("spec", {})["grown"] = _mark("list", size)

    return change


def _grow_all(response: dict[str, Any]) -> None:
    objects = response["convertedObjects"]
    for obj in objects:
        obj["spec"] = {"grown": _mark("list", _LARGE // 2 // len(objects))}


def _multiply(response: dict[str, Any]) -> None:
    response["convertedObjects"] = _mark("objects", _MANY)


def _lose(response: dict[str, Any]) -> None:
    del response["convertedObjects"][1:]


def _label(response: dict[str, Any]) -> None:
    for obj in response["convertedObjects"]:
        obj["metadata"]["labels"] = _mark("labels", _LABELS)


def _explain(response: dict[str, Any]) -> None:
    response["result"] = {"status": "Failure", "message": _mark("lines", _LARGE)}


def _rename(response: dict[str, Any]) -> None:
    for obj in response["convertedObjects"]:
        obj["metadata"]["name"] = "x" * 10_000


def _identify(response: dict[str, Any]) -> None:
    response["uid"] = _mark("controls", _LARGE)


_CHANGES: Final[dict[str, Change]] = {
    "well": _nothing,
    "large": _grow(_LARGE - (1 << 20)),
    "too-large": _grow(_LARGE),
    "grown": _grow_all,
    "many": _multiply,
    "few": _lose,
    "labels": _label,
    "message": _explain,
    "names": _rename,
    "uid": _identify,
}
_BODIES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "deep": lambda data: _answer(data, _nothing)[:-1] + b',"a":' + b'{"a":' * _LEVELS + b"1" + b"}" * (_LEVELS + 1),
    "deep-object": lambda data: data.replace(b'"objects":', b'"a":%b,"objects":' % (b"[" * 200 + b"]" * 200)),
    "syntax": lambda _data: b'{"a":[' + b"1," * (_LARGE // 2 - 100),
    "empty": lambda _data: b"",
    "text": lambda _data: b"x" * (_LARGE - 1),
    "brackets": lambda _data: b"[" * (_LARGE - 1),
}
LARGE: Final = ("large", "too-large", "grown", "many", "message", "uid", "text", "bomb", "refusal", "retry")
"""Paths of large answers."""
ODD: Final = ("deep", "deep-object", "syntax", "brackets", "empty", "few", "labels", "names", "chunks", "break")
"""Paths of wrong answers."""
SLOW: Final = ("hang", "drip")


if __name__ == "__main__":
    serve(_Handler, *sys.argv[1:])
