"""Answers of webhooks to hostile tests: correct, slow, wrong, or far too large. The path says which.

Large parts of answers are prepared once and inserted for short marks, so that the webhook is faster than the server.
"""

import gzip
import json
import re
import time
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar, Final

LARGE_BYTES: Final = 16 << 20
"""Bytes of a large answer."""
_HANG: Final = 60.0
"""Seconds after which the connection of a missing answer ends: servers wait for 30."""
_DRIP: Final = 0.01
"""Seconds between two bytes of a slow answer."""
_LEVELS: Final = 100_000
_MARK: Final = re.compile(rb'"<(\w+):(\d+)>"')
"""The mark for prepared JSON."""


class ReviewHandler(BaseHTTPRequestHandler):
    """Answers reviews."""

    protocol_version = "HTTP/1.1"
    well: ClassVar[str] = "well"
    """The path of the correct answer, which slow answers send too."""

    def answer(self, how: str, data: bytes) -> bytes:
        """Return the answer to a review for a path."""
        raise NotImplementedError

    def do_POST(self) -> None:
        """Answer a review."""
        data = self.rfile.read(int(self.headers["Content-Length"]))
        how = self.path.partition("?")[0].removeprefix("/")
        self.close_connection = True
        if how == "break":
            return
        if how == "hang":
            time.sleep(_HANG)
        elif how in _BODIES:
            self._send(_BODIES[how])
        elif how == "deep":
            self._send(self.answer(self.well, data)[:-1] + b',"a":' + b'{"a":' * _LEVELS + b"1" + b"}" * (_LEVELS + 1))
        elif how in {"drip", "chunks"}:
            self._send(self.answer(self.well, data), slowly=how == "drip")
        elif how == "bomb":
            self._send(_bomb(), encoding="gzip")
        elif how in {"refusal", "retry"}:
            self._send(self.answer("large", data), status=HTTPStatus.SERVICE_UNAVAILABLE, retry=how == "retry")
        elif how == "redirect":
            self._send(b"", status=HTTPStatus.TEMPORARY_REDIRECT)
        else:
            self._send(self.answer(how, data))

    def _send(
        self, body: bytes, *, status: int = HTTPStatus.OK, encoding: str = "", retry: bool = False, slowly: bool | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if encoding:
            self.send_header("Content-Encoding", encoding)
        if status == HTTPStatus.TEMPORARY_REDIRECT:
            self.send_header("Location", self.path)
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


def filled(answer: Any) -> bytes:
    """Return an answer with prepared JSON instead of its marks."""
    return _MARK.sub(lambda mark: _prepared(*mark.groups()), json.dumps(answer).encode())


def mark(kind: str, size: int) -> str:
    """Return the mark for prepared JSON."""
    return f"<{kind}:{size}>"


@cache
def _prepared(kind: bytes, size: bytes) -> bytes:
    """Return JSON of a size: bytes, objects, texts, causes, or members of an object."""
    count = int(size)
    match kind:
        case b"list":
            return b"[%b]" % b", ".join([b'{"a": "b"}'] * (count // len('{"a": "b"}, ')))
        case b"lines":
            return b'"%b"' % (b"<\\n" * (count // 4))
        case b"controls":
            return b'"%b"' % (b"\\u0001" * (count // 8))
        case b"causes":
            return json.dumps([{"reason": "FieldValueInvalid", "message": "!" * 100, "field": "spec"}] * count).encode()
        case b"texts":
            return json.dumps(["!" * 100] * count).encode()
        case b"objects":
            return json.dumps([{"metadata": {"name": "gadget-0"}, "spec": {"payload": "x" * 100}}] * count).encode()
        case _:
            return json.dumps({f"label-{number}": "!" * 100 for number in range(count)}).encode()


@cache
def _bomb() -> bytes:
    """Return a compressed answer that expands to far more than all others."""
    return gzip.compress(b'{"response": {"convertedObjects": [' + b'{"a": "b"}, ' * (4 * LARGE_BYTES // len('{"a": "b"}, ')) + b"{}]}}", 1)


_BODIES: Final[dict[str, bytes]] = {
    "syntax": b'{"a":[' + b"1," * (LARGE_BYTES // 2 - 100),
    "empty": b"",
    "text": b"x" * (LARGE_BYTES - 1),
    "brackets": b"[" * (LARGE_BYTES - 1),
}
