"""A client that reads and writes shared objects in every way, and records what it asked and what it was told."""

import http.client
import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from hack.lib.pausable import Pausable
from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.attack import BROKEN, JSON, MERGE_PATCH
from hack.lib.soak.long import history
from hack.lib.soak.long.collection import NAME, VERSIONS, collection, register, state
from hack.lib.soak.long.history import History, Operation
from hack.lib.soak.long.names import Name, Names

_PATIENCE: Final = 3.0
"""Seconds to wait for an answer."""
_PAUSE: Final = 0.1
"""Seconds until the next connection where one breaks."""
_REMOVALS: Final = 8
"""Attempts to remove an object whose time is over."""
_APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_NOTHING_DONE: Final = ("failed calling webhook", "no endpoints available", "connection refused")
"""Messages of server errors before which nothing was written."""

_METHODS: Final = {
    "get": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "apply": "PATCH",
    "status": "PATCH",
    "delete": "DELETE",
}
_VERBS: Final = ("get", "get", "get", "create", "update", "update", "patch", "apply", "status", "delete")


class RegisterClient(Pausable):
    """Sends one request after the other. `problems` has answers that no such request may get."""

    def __init__(self, number: int, access: Access | Replicas, names: Names, record: History, *, interval: float = 0.0) -> None:
        """Prepare a client; `interval` is the delay before each request in seconds."""
        super().__init__()
        self._number = number
        self._access = access
        self._names = names
        self._history = record
        self._interval = interval
        self._random = random.Random(number)  # noqa: S311 -- no secret
        self.problems: list[str] = []

    def _run(self) -> None:
        while not self._ended.is_set():
            with suppress(*BROKEN), self._access.connection(_PATIENCE) as connection:
                connection.connect()
                while not self._ended.wait(self._interval):
                    name, last = self._names.take()
                    if last:
                        self.remove(name, connection)
                    else:
                        self._ask(connection, self._random.choice(_VERBS), name)
            self._ended.wait(_PAUSE)

    def remove(self, name: Name, connection: http.client.HTTPSConnection) -> None:
        """Read an object for the last time, and remove it.

        Raises:
            OSError, HTTPException: The connection breaks; the object may remain.
        """
        self._ask(connection, "get", name)
        for _ in range(_REMOVALS):
            if self._ask(connection, "delete", name) in {history.OK, history.MISSING}:
                break
        self._ask(connection, "get", name)

    def look(self, name: Name, connection: http.client.HTTPSConnection) -> None:
        """Read an object.

        Raises:
            OSError, HTTPException: The connection breaks.
        """
        self._ask(connection, "get", name)

    def _ask(self, connection: http.client.HTTPSConnection, verb: str, name: Name) -> str:
        """Send a request, and record it. Return its outcome.

        Raises:
            OSError, HTTPException: The connection breaks; the request is recorded.
        """
        value = 0 if verb in {"get", "delete"} else self._names.value()
        base = name.revision if verb == "update" else 0
        if verb == "update" and not base:
            verb, value = "get", 0
        path, headers, body = self._request(verb, name.text, value, base)
        call = time.monotonic_ns()

        def record(outcome: str, **seen: int) -> str:
            given = {"value": value, **seen}
            if outcome == history.UNKNOWN and verb != "get":
                name.unknown += 1
            done = Operation(name.text, self._number, verb, outcome, call, time.monotonic_ns(), base=base, **given)
            self._history.add(done)
            return outcome

        try:
            connection.request(_METHODS[verb], path, body, headers)
            response = connection.getresponse()
            answer = response.read()
        except BROKEN:
            record(history.UNKNOWN)
            raise
        return self._judge(verb, name, response.status, answer, record)

    def _request(self, verb: str, name: str, value: int, base: int) -> tuple[str, dict[str, str], str | None]:
        """Return path, headers and body of a request."""
        version = self._random.choice(VERSIONS)
        path = f"{collection(version)}/{name}"
        obj = register(version, name, value)
        if verb in {"get", "delete"}:
            return path, {}, None
        if verb == "create":
            return collection(version), JSON, json.dumps(obj)
        if verb == "apply":
            return f"{path}?fieldManager=soak-{self._number}&force=true", _APPLY, json.dumps(obj)
        if verb == "update":
            obj["metadata"]["resourceVersion"] = str(base)
            return path, JSON, json.dumps(obj)
        part = "status" if verb == "status" else "spec"
        return f"{path}/status" if verb == "status" else path, MERGE_PATCH, json.dumps({part: {"value": value}})

    def _judge(self, verb: str, name: Name, code: int, answer: bytes, record: Callable[..., str]) -> str:
        """Record the answer to a request."""
        if code >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            text = answer.decode(errors="replace")
            return record(history.REFUSED if any(known in text for known in _NOTHING_DONE) else history.UNKNOWN)
        if code == http.HTTPStatus.TOO_MANY_REQUESTS:
            return record(history.REFUSED)
        found = _parsed(answer)
        if code < http.HTTPStatus.BAD_REQUEST:
            return self._succeeded(verb, name, found, record)
        if code == http.HTTPStatus.NOT_FOUND and found.get("details", {}).get("name") == name.text:
            name.revision = 0
            return record(history.MISSING)
        if code == http.HTTPStatus.CONFLICT:
            outcome = {"AlreadyExists": history.EXISTS, "Conflict": history.CONFLICT}.get(found.get("reason", ""), history.REFUSED)
            return record(outcome if verb in {"create", "update"} else history.REFUSED)
        self.problems.append(f"{verb} of {name.text} in {NAME} got {code}: {answer[:300]!r}")
        return record(history.REFUSED)

    @staticmethod
    def _succeeded(verb: str, name: Name, found: dict[str, Any], record: Callable[..., str]) -> str:
        if verb == "delete":
            name.revision = 0
            return record(history.OK)
        revision = int(found["metadata"]["resourceVersion"])
        name.revision = max(name.revision, revision)
        if verb != "get":
            return record(history.OK, revision=revision)
        seen = state(found)
        return record(history.OK, revision=revision, value=seen.value, status=seen.status)


def _parsed(answer: bytes) -> dict[str, Any]:
    """Return the object of an answer, empty if it is text."""
    try:
        found = json.loads(answer)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
