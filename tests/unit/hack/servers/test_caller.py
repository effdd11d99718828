"""Tests of a client whose answers may be no JSON."""

import http.client
import io
from pathlib import Path
from typing import Any, cast

import pytest

from hack.lib.servers import caller
from hack.lib.servers.caller import Caller

_TEXT = b"404 page not found\n"


class _Socket:
    """A connection on which an answer waits."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, _mode: str) -> io.BytesIO:
        """Return the answer as a file."""
        return io.BytesIO(self._answer)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Caller:
    """Return a client that gets the plain 404 of a path that is not served."""

    def send(*_args: Any) -> http.client.HTTPResponse:
        head = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(_TEXT)
        response = http.client.HTTPResponse(cast("Any", _Socket(head + _TEXT)))
        response.begin()
        return response

    monkeypatch.setattr(caller, "client_context", lambda *_files: None)
    monkeypatch.setattr(Caller, "send", send)
    return Caller("https://127.0.0.1:1", Path("ca.crt"))


def test_text(answered: Caller) -> None:
    """Return the text of an answer that is no JSON, and show it where the request must succeed."""
    assert answered.ask("GET", "/apis/example.com/v1/widgets") == (404, _TEXT.decode())
    with pytest.raises(AssertionError, match="404 page not found"):
        answered.must("GET", "/apis/example.com/v1/widgets")
