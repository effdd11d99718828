"""A hostile client: sends requests and raw bytes, and records every answer."""

import http.client
import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Final, TypeVar

from hack.lib.servers import tls_connection
from hack.lib.soak.access import Access
from hack.lib.soak.answers import is_allowed
from hack.lib.soak.collection import CRDS, GROUP

BROKEN: Final = (OSError, http.client.HTTPException)
"""Errors of a connection that the server closed."""
NO_ANSWER: Final = 0
"""Recorded as the status of a request whose connection broke."""
JSON: Final = {"Content-Type": "application/json"}
YAML: Final = {"Content-Type": "application/yaml"}
MERGE_PATCH: Final = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
T = TypeVar("T")
_PATIENCE: Final = 100.0
"""Seconds to wait for an answer: the deadline of requests is 60."""
_SERVED_WITHIN: Final = 60
"""Maximum of seconds until an accepted definition is served or deleted. kube-apiserver takes several for 200 versions."""
_NOT_YET: Final = frozenset({NO_ANSWER, http.HTTPStatus.NOT_FOUND, http.HTTPStatus.TOO_MANY_REQUESTS})
"""Answers to writes before their definition is served, or while it is only mirrored."""
_POLL: Final = 0.05
_CREATORS: Final = 8
_MESSAGE: Final = 4_000_000
"""Bytes to read of an error, for its message."""


class Attack:
    """A client of a server.

    `front` is the server for ordinary clients, `direct` is apiext itself, and `proxy` is the credential of a front proxy of
    apiext. `answers` counts status codes, and for defects also messages. A `reduced` attack is small enough for a test.
    """

    def __init__(self, front: Access, direct: Access, proxy: Access, *, reduced: bool = False) -> None:
        self.front = front
        self.direct = direct
        self.proxy = proxy
        self.reduced = reduced
        self.answers: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()

    def size(self, full: int, reduced: int) -> int:
        """Return the size of an input."""
        return reduced if self.reduced else full

    def some(self, values: Sequence[T]) -> Sequence[T]:
        """Return the variants to send: every fourth of a reduced attack."""
        return values[::4] if self.reduced else values

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        credentials: bool = True,
        access: Access | None = None,
    ) -> int:
        """Send a request to the front or to `access`, read the answer and return its status.

        A body other than bytes is sent as JSON.
        """
        return self.send(_request(method, path, body, headers), access or self.front, credentials=credentials)

    def send(self, data: bytes, access: Access | None = None, *, credentials: bool = True) -> int:
        """Send the bytes of a request to apiext or to `access`, and return the status of the answer."""
        status, message = self._exchange(data, access, credentials=credentials)
        self.record(status, message)
        return status

    def _exchange(self, data: bytes, access: Access | None = None, *, credentials: bool = True) -> tuple[int, str]:
        """Send the bytes of a request, read the answer, and return its status, and its message if it is a server error."""
        status = NO_ANSWER
        message = ""
        with suppress(*BROKEN), self.connect(access, credentials=credentials) as connection:
            with suppress(*BROKEN):  # a server may answer before it has read everything
                connection.sendall(data)
            response = http.client.HTTPResponse(connection, method=data[:8].split(b" ")[0].decode("latin-1"))
            try:
                response.begin()
            except http.client.HTTPException:  # the library reads at most 100 headers, but a server may send more warnings
                answered: Any = response.status  # also a text, if the first line is invalid
                status = answered if isinstance(answered, int) else NO_ANSWER
                raise
            status = response.status
            message = _message(response.read(_MESSAGE)) if status >= 500 else ""
            while response.read(_MESSAGE):
                pass
        return status, message

    def create(self, path: str, objects: Sequence[Mapping[str, Any]]) -> None:
        """Create objects in a collection over a few connections."""
        self.together([partial(self._create, path, objects[first::_CREATORS]) for first in range(_CREATORS)])

    def _create(self, path: str, objects: Iterable[Mapping[str, Any]]) -> None:
        with self.front.connection(_PATIENCE) as connection:
            for obj in objects:
                connection.request("POST", path, json.dumps(obj), JSON)
                response = connection.getresponse()
                data = response.read()
                self.record(response.status, _message(data) if response.status >= 500 else "")

    def record(self, status: int, message: str = "") -> None:
        """Count an answer; keep the message of a defect only."""
        message = "" if is_allowed(status, message) else message[:300]
        with self._lock:
            self.answers[status, message] += 1

    def connect(self, access: Access | None = None, *, credentials: bool = True) -> ssl.SSLSocket:
        """Open a connection to apiext or to `access`."""
        access = access or self.direct
        context = access.authenticated if credentials else access.anonymous
        return tls_connection.connect(context, access.port, server_hostname="localhost", timeout=_PATIENCE)

    @contextmanager
    def connections(self, count: int, access: Access | None = None, *, credentials: bool = True) -> Iterator[list[ssl.SSLSocket]]:
        """Open several connections for the block, without those that the server refuses."""
        with ExitStack() as stack:
            found = []
            for _ in range(count):
                with suppress(OSError):
                    found.append(stack.enter_context(self.connect(access, credentials=credentials)))
            yield found

    def together(self, calls: Iterable[Callable[[], object]], clients: int = 8) -> None:
        """Run calls in threads, `clients` at a time."""
        with ThreadPoolExecutor(clients) as pool:
            for done in [pool.submit(call) for call in calls]:
                done.result()

    @contextmanager
    def defined(self, crd: dict[str, Any], *, served: bool = True) -> Iterator[str]:
        """Create a definition for the block, and yield the path of its collection when objects can be written.

        Do not wait if the definition is refused, or without `served`. Afterwards the definition and its collection are gone, so
        that the next definition of this name starts without them.
        """
        plural = crd["spec"]["names"]["plural"]
        path = f"/apis/{GROUP}/v1/namespaces/attacked/{plural}"
        created = self.ask("POST", CRDS, crd) == http.HTTPStatus.CREATED
        if created and served:
            # a server that mirrors the definition answers reads before it accepts writes
            self._wait("POST", f"{path}?dryRun=All", {}, lambda status: status not in _NOT_YET)
        yield path
        if created:
            name = f"{CRDS}/{plural}.{GROUP}"
            self.ask("DELETE", name)
            for gone in (name, path):
                self._wait("GET", f"{gone}?limit=1", None, lambda status: status == http.HTTPStatus.NOT_FOUND)

    def _wait(self, method: str, path: str, body: Any, until: Callable[[int], bool]) -> None:
        """Repeat a request to the front until its answer is as wanted; record defects only."""
        deadline = time.monotonic() + self.size(_SERVED_WITHIN, 10)
        request = _request(method, path, body)
        while True:
            status, message = self._exchange(request, self.front)
            if not is_allowed(status, message):
                self.record(status, message)
            if until(status) or time.monotonic() > deadline:
                return
            time.sleep(_POLL)


def _request(method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> bytes:
    """Return the bytes of a request; a body other than bytes is JSON."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    lines = [f"{name}: {text}" for name, text in {**(JSON if data else {}), **(headers or {})}.items()]
    head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(data or b'')}", *lines])
    return head.encode() + b"\r\n\r\n" + (data or b"")


def _message(body: bytes) -> str:
    """Return the message of a Status, or the text of another error."""
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(body)["message"])
    return body.decode(errors="replace")
