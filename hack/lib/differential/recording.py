"""Records the responses of the reference to the tests of a file, and replays them without a control plane."""

import base64
import hashlib
import http.client
import io
import json
import lzma
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, cast

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Response, Side, Step

_LEFT_OUT: Final = frozenset({"date", "audit-id", "content-length", "transfer-encoding"})
"""Headers that differ in every two responses, or describe the transfer."""
_VERSION: Final = "kubernetes"
_CASES: Final = "cases"


class NotRecordedError(Exception):
    """A test sends a request that is not the next one of its recording."""


class Exchange(NamedTuple):
    """A request, by its digest, and the reference's response."""

    digest: str
    status: int
    headers: list[list[str]]
    body: str
    """In base64 if it is not UTF-8."""
    is_text: bool

    @classmethod
    def of(cls, digest: str, response: http.client.HTTPResponse, data: bytes) -> Self:
        """Keep a response."""
        headers = [[name, text] for name, text in response.getheaders() if name.lower() not in _LEFT_OUT]
        try:
            return cls(digest, response.status, headers, data.decode(), is_text=True)
        except UnicodeDecodeError:
            return cls(digest, response.status, headers, base64.b64encode(data).decode(), is_text=False)

    def response(self) -> Response:
        """Return the response as the client's library does."""
        data = self.body.encode() if self.is_text else base64.b64decode(self.body)
        headers = "".join(f"{name}: {text}\r\n" for name, text in self.headers)
        head = f"HTTP/1.1 {self.status} {http.client.responses.get(self.status, '')}\r\n{headers}Content-Length: {len(data)}\r\n\r\n"
        found = http.client.HTTPResponse(cast("Any", _Received(head.encode("latin-1") + data)))
        found.begin()
        return found, found.read()


@dataclass(frozen=True)
class _Received:
    """A connection on which a response has arrived."""

    data: bytes

    def makefile(self, _mode: str) -> io.BytesIO:
        """Return what has arrived."""
        return io.BytesIO(self.data)


@dataclass
class Recording:
    """The responses of each case: each test, and each fixture that several tests share.

    Clients repeat a read until they see what they wait for: only the last one of equal requests without effect is kept, and answers all.
    """

    version: str
    current: Sequence[str]
    """The names of the cases that have begun and not ended, the current one last."""
    cases: dict[str, list[Exchange]] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, current: Sequence[str] = ()) -> Self:
        """Read a recording."""
        found = json.loads(lzma.decompress(path.read_bytes()))
        return cls(found[_VERSION], current, {name: [Exchange(*one) for one in exchanges] for name, exchanges in found[_CASES].items()})

    def save(self, path: Path) -> None:
        """Write the recording."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({_VERSION: self.version, _CASES: self.cases}, sort_keys=True)
        path.write_bytes(lzma.compress(text.encode(), preset=9))

    def add(self, step: Step, response: http.client.HTTPResponse, data: bytes) -> None:
        """Append a response to the current case."""
        exchanges = self.cases.setdefault(self.current[-1], [])
        exchange = Exchange.of(_digest(step), response, data)
        if exchanges and exchanges[-1].digest == exchange.digest and _is_harmless(step):
            exchanges.pop()
        exchanges.append(exchange)

    def answer(self, step: Step) -> Response:
        """Return the next response of the current case.

        Raises:
            NotRecordedError: it is the response to another request.
        """
        case = self.current[-1]
        exchanges, place, digest = self.cases.get(case, []), self._places.get(case, 0), _digest(step)
        if place < len(exchanges) and exchanges[place].digest == digest:
            self._places[case] = place + 1
            return exchanges[place].response()
        if place and exchanges[place - 1].digest == digest and _is_harmless(step):
            return exchanges[place - 1].response()
        raise NotRecordedError(f"{case} is not recorded with {step}: hack/test --record FILE records it")


def _digest(step: Step) -> str:
    body = step.body if isinstance(step.body, bytes) else json.dumps(step.body).encode()
    text = json.dumps([step.method, step.path, dict(step.headers)])
    return hashlib.blake2b(text.encode() + body, digest_size=9).hexdigest()


def _is_harmless(step: Step) -> bool:
    return step.method == "GET" or "dryRun=All" in step.path


class RecordingSide(Side):
    """The connection to the reference that keeps all its responses."""

    def __init__(self, side: Side, recording: Recording) -> None:
        super().__init__(side.url, side.context, masked)
        self._recording = recording

    def raw(self, step: Step) -> Response:
        """Send the request, read the whole response and keep it."""
        response, data = super().raw(step)
        self._recording.add(step, response, data)
        return response, data


class ReplayedSide(Side):
    """The recorded reference. It has no address."""

    def __init__(self, recording: Recording) -> None:
        super().__init__("https://recorded.invalid", ssl.create_default_context(), masked)
        self._recording = recording

    def raw(self, step: Step) -> Response:
        """Return the recorded response."""
        return self._recording.answer(step)
