"""Clients of the objects while their definition changes. Each checks its answers."""

import http.client
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hack.lib.life.definition import GROUP, KIND, NEW, PROTOCOL_ANNOTATION, path
from hack.lib.pausable import Pausable
from hack.lib.soak.access import Access
from hack.lib.soak.attack import BROKEN, JSON, MERGE_PATCH

_PATIENCE: Final = 20.0
"""Seconds to wait for an answer; a write without one is in doubt."""
_PAUSE: Final = 0.05
"""Seconds after an error; no event announces that a program is back."""
_PAGE: Final = 500
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_PASSING: Final = frozenset({http.HTTPStatus.CONFLICT, http.HTTPStatus.TOO_MANY_REQUESTS, http.HTTPStatus.GONE, http.HTTPStatus.NOT_FOUND})
"""Codes with which a request may end while the definition and its versions change, and a migration writes."""


@dataclass(frozen=True)
class Fields:
    """The fields of an object, equal in both versions."""

    host: str = "example.com"
    port: int = 80
    protocol: str = "TCP"
    counter: int = 0
    tags: tuple[tuple[str, str], ...] = ()
    observed: int = 0

    def body(self, name: str, version: str, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the object in a version."""
        spec: dict[str, Any] = {"counter": self.counter, "tags": dict(self.tags)}
        meta: dict[str, Any] = (metadata or {}) | {"name": name}
        if version == NEW:
            spec |= {"host": self.host, "port": self.port, "protocol": self.protocol}
        else:
            spec["address"] = f"{self.host}:{self.port}"
            meta["annotations"] = {PROTOCOL_ANNOTATION: self.protocol}
        return {"apiVersion": f"{GROUP}/{version}", "kind": KIND, "metadata": meta, "spec": spec}


def read(obj: dict[str, Any]) -> Fields:
    """Return the fields of an object of either version."""
    spec, metadata = obj["spec"], obj["metadata"]
    status = obj.get("status") or {}
    host, port = (spec["host"], spec["port"]) if "host" in spec else spec["address"].rpartition(":")[::2]
    protocol = spec.get("protocol") or (metadata.get("annotations") or {}).get(PROTOCOL_ANNOTATION, "TCP")
    tags = tuple(sorted((spec.get("tags") or {}).items()))
    return Fields(host, int(port), protocol, spec.get("counter", 0), tags, status.get("observed", 0))


@dataclass
class Findings:
    """Counts of the clients' observations. `problems` are lost objects, lost fields, and wrong answers."""

    writes: int = 0
    doubts: int = 0
    lists: int = 0
    problems: list[str] = field(default_factory=list)


class Client(Pausable):
    """A client in a thread, which continues after every error. `served` returns the versions that it may request."""

    interval = 0.0
    """Seconds before each step."""

    def __init__(self, access: Access, served: Callable[[], Sequence[str]], findings: Findings, seed: str) -> None:
        super().__init__()
        self._access = access
        self._served = served
        self._findings = findings
        self._random = random.Random(seed)  # noqa: S311 -- no secret

    def _run(self) -> None:
        while not self._ended.is_set():
            with self._access.connection(_PATIENCE) as connection:
                try:
                    while not self._ended.wait(self.interval):
                        if not self._step(connection):
                            self._ended.wait(_PAUSE)
                except BROKEN:
                    self._ended.wait(_PAUSE)

    def _step(self, connection: http.client.HTTPSConnection) -> bool:
        """Send requests, and return whether to continue without a pause."""
        raise NotImplementedError

    def _send(
        self, connection: http.client.HTTPSConnection, verb: str, where: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        connection.request(verb, where, None if body is None else json.dumps(body), headers or JSON)
        response = connection.getresponse()
        data = response.read()
        status = response.status
        if status >= http.HTTPStatus.BAD_REQUEST and status < http.HTTPStatus.INTERNAL_SERVER_ERROR and status not in _PASSING:
            self._findings.problems.append(f"{verb} {where} got {status}: {data[:500]!r}")
        try:
            return status, json.loads(data)
        except ValueError:
            return status, {}


class Reader(Client):
    """Lists all objects in pages, in any served version, and checks that no permanent object is missing."""

    def __init__(self, access: Access, served: Callable[[], Sequence[str]], findings: Findings, staying: Callable[[], set[str]]) -> None:
        super().__init__(access, served, findings, "reader")
        self._staying = staying

    def _step(self, connection: http.client.HTTPSConnection) -> bool:
        version = self._random.choice(self._served())
        wanted = self._staying()
        seen: set[str] = set()
        more = ""
        while not self._ended.is_set():
            status, answer = self._send(connection, "GET", f"{path(version)}?limit={_PAGE}&continue={more}")
            if status != http.HTTPStatus.OK:
                return False
            seen |= {item["metadata"]["name"] for item in answer["items"]}
            more = answer["metadata"].get("continue", "")
            if not more:
                self._findings.lists += 1
                if missing := wanted - seen:
                    self._findings.problems.append(f"a list in {version} leaves out {len(missing)} objects, such as {min(missing)}")
                return True
        return True


class Owner(Client):
    """Creates, updates, patches, applies and deletes objects of its own, in any served version.

    `held` has the acknowledged fields of each object, None if it was deleted. `doubts` has the fields that an object may have instead,
    because its last write got no answer or a server error. `revisions` are the revisions of the acknowledged writes.
    """

    def __init__(self, access: Access, served: Callable[[], Sequence[str]], findings: Findings, prefix: str) -> None:
        super().__init__(access, served, findings, prefix)
        self._prefix = prefix
        self._created = 0
        self.held: dict[str, Fields | None] = {}
        self.staying: list[str] = []
        """Names of objects that are never deleted."""
        self.doubts: dict[str, Fields | None] = {}
        self.revisions: list[int] = []

    def populate(self, count: int, version: str) -> None:
        """Create the permanent objects."""
        with self._access.connection(_PATIENCE) as connection:
            for number in range(count):
                name, fields = f"{self._prefix}-stays-{number}", Fields(port=1 + number % 65_535)
                status, answer = self._send(connection, "POST", path(version), fields.body(name, version))
                assert status == http.HTTPStatus.CREATED, answer
                self.staying.append(name)
                self.held[name] = fields

    def _step(self, connection: http.client.HTTPSConnection) -> bool:
        alive = [name for name, fields in self.held.items() if fields and name not in self.doubts]
        version = self._random.choice(self._served())
        change = self._random.choice(
            [self._create, self._update, self._update, self._patch, self._patch, self._apply, self._observe, self._delete]
        )
        name = self._random.choice(alive) if alive else ""
        return (change if name else self._create)(connection, version, name)

    def _create(self, connection: http.client.HTTPSConnection, version: str, _name: str) -> bool:
        self._created += 1
        name, fields = f"{self._prefix}-{self._created}", Fields(port=self._random.randrange(1, 49_000))
        self.held[name] = None
        return self._write(connection, "POST", path(version), name, fields, fields.body(name, version), JSON)

    def _update(self, connection: http.client.HTTPSConnection, version: str, name: str) -> bool:
        """Replace an object that was just read."""
        status, found = self._send(connection, "GET", path(version, name))
        held = self._fields(name)
        if status != http.HTTPStatus.OK:
            return False
        if read(found) != held:
            self._findings.problems.append(f"{name} is read in {version} as {read(found)}, acknowledged was {held}")
        fields = replace(held, counter=held.counter + 1, host=f"host-{held.counter}.example.com")
        body = fields.body(name, version, found["metadata"])
        return self._write(connection, "PUT", path(version, name), name, fields, body, JSON)

    def _patch(self, connection: http.client.HTTPSConnection, version: str, name: str) -> bool:
        fields = replace(self._fields(name), counter=self._fields(name).counter + 1)
        body = {"spec": {"counter": fields.counter}}
        return self._write(connection, "PATCH", path(version, name), name, fields, body, MERGE_PATCH)

    def _apply(self, connection: http.client.HTTPSConnection, version: str, name: str) -> bool:
        """Apply a tag under a separate manager; this drops its previous tag."""
        tag = (("applied", str(self._random.randrange(100))),)
        body = {"apiVersion": f"{GROUP}/{version}", "kind": KIND, "metadata": {"name": name}, "spec": {"tags": dict(tag)}}
        where = f"{path(version, name)}?fieldManager=tagger&force=true"
        return self._write(connection, "PATCH", where, name, replace(self._fields(name), tags=tag), body, APPLY)

    def _observe(self, connection: http.client.HTTPSConnection, version: str, name: str) -> bool:
        fields = replace(self._fields(name), observed=self._fields(name).observed + 1)
        body = {"status": {"observed": fields.observed}}
        return self._write(connection, "PATCH", path(version, name, "status"), name, fields, body, MERGE_PATCH)

    def _delete(self, connection: http.client.HTTPSConnection, version: str, _name: str) -> bool:
        """Delete an object that is not permanent, to limit their number."""
        staying = set(self.staying)
        passing = [name for name, fields in self.held.items() if fields and name not in self.doubts and name not in staying]
        if not passing:
            return True
        name = self._random.choice(passing)
        return self._write(connection, "DELETE", path(version, name), name, None, None, JSON)

    def _fields(self, name: str) -> Fields:
        fields = self.held[name]
        assert fields is not None
        return fields

    def _write(
        self,
        connection: http.client.HTTPSConnection,
        verb: str,
        where: str,
        name: str,
        fields: Fields | None,
        body: Any,
        headers: dict[str, str],
    ) -> bool:
        self.doubts[name] = fields
        status, answer = self._send(connection, verb, where, body, headers)
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            return False
        del self.doubts[name]
        if status >= http.HTTPStatus.BAD_REQUEST:
            return False
        self._findings.writes += 1
        self.held[name] = fields
        if fields is not None:
            self.revisions.append(int(answer["metadata"]["resourceVersion"]))
            if read(answer) != fields:
                self._findings.problems.append(f"{verb} {where} answers {read(answer)}, written was {fields}")
        return True
