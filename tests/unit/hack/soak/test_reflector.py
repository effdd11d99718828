"""Tests of the informer of hack/soak: after which ends of a watch it lists, as client-go's."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Final, Self, cast

import pytest

from hack.lib.soak import reflector
from hack.lib.soak.reflector import Reflector

PATH: Final = "/widgets"
NO_ANSWER: Final = b""


def answer(status: str, *headers: str, body: bytes = b"text") -> bytes:
    """Return a response."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]).encode() + body


def event(kind: str, obj: dict[str, Any]) -> bytes:
    """Return an event as a chunk."""
    line = json.dumps({"type": kind, "object": obj}).encode() + b"\n"
    return b"%x\r\n%s\r\n" % (len(line), line)


HEAD: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END: Final = b"0\r\n\r\n"
ADDED: Final = event("ADDED", {"metadata": {"name": "a", "resourceVersion": "2"}})
BOOKMARK: Final = event("BOOKMARK", {"metadata": {"resourceVersion": "2"}})
LIST: Final = answer("200 OK", body=json.dumps({"metadata": {"resourceVersion": "1"}, "items": []}).encode())


def error(code: int) -> bytes:
    """Return a watch that ends with an ERROR event."""
    return HEAD + event("ERROR", {"code": code, "message": "text"}) + END


class Server:
    """Answers lists, and watches as scripted, one connection after the other; `scripted` is set with the watch after these, which stays."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self._answers = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._ended = threading.Event()
        self.scripted = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    @contextmanager
    def connection(self, patience: float | None = None) -> Iterator[http.client.HTTPConnection]:
        """Provide a connection, as Access."""
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=patience)) as connection:
            yield connection

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(4096)
        if b"watch=true" not in head:
            connection.sendall(LIST)
        elif self._answers:
            connection.sendall(self._answers.pop(0))
        else:
            self.scripted.set()
            self._ended.wait()


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait between attempts."""
    monkeypatch.setattr(reflector, "_NO_ANSWER_SECONDS", 0.0)
    monkeypatch.setattr(reflector, "_BACK_OFF_SECONDS", 0.0)


def _lists(answers: Sequence[bytes], *, http2: bool = False) -> int:
    """Return how often an informer lists until it has had these answers to its watches."""
    server = Server(answers)
    informer = Reflector(cast("Any", server), PATH, len, patience=30, http2=http2)
    with informer, server:
        assert server.scripted.wait(30)
        assert len(informer.reasons) == informer.lists - 1
        return informer.lists


@pytest.mark.parametrize(
    "answers",
    [
        [HEAD + ADDED + END],
        [HEAD + BOOKMARK + END],
        [HEAD + ADDED],
        [HEAD + ADDED + b"5\r\n{"],
        [NO_ANSWER] * 10,
        [answer("429 Too Many Requests")],
        [answer("429 Too Many Requests", "Retry-After: 0")] * 30,
        [answer("503 Service Unavailable", "Retry-After: 0")] * 10,
        [error(429)],
    ],
)
def test_resumes(answers: list[bytes]) -> None:
    """List once only."""
    assert _lists(answers) == 1


@pytest.mark.parametrize(
    "answers",
    [
        [HEAD + END],
        [HEAD],
        [NO_ANSWER] * 11,
        [answer("503 Service Unavailable")],
        [answer("503 Service Unavailable", "Retry-After: 0")] * 11,
        [answer("500 Internal Server Error")],
        [answer("410 Gone", "Retry-After: 0")],
        [answer("404 Not Found")],
        [b"no response\r\n\r\n"],
        [error(410)],
        [error(500)],
        [error(503)],
    ],
)
def test_lists_again(answers: list[bytes]) -> None:
    """List a second time."""
    assert _lists(answers) == 2


def test_watches_for_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resume after a watch without events that was not short."""
    monkeypatch.setattr(reflector, "_SHORT_SECONDS", 0.0)
    assert _lists([HEAD + END]) == 1


def test_aborted_stream() -> None:
    """List after a watch whose stream of HTTP/2 would have been reset."""
    assert _lists([HEAD + ADDED], http2=True) == 2
    assert _lists([HEAD + ADDED + END], http2=True) == 1
