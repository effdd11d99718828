"""A client whose every attempt at a write has a mark, by which webhooks' calls for it are found."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from apiext.base.meta.host_annotations import REVISION_BASE
from tests.support.admission_webhook import AdmissionCall
from tests.support.clients.client import Reply, Server
from tests.support.clients.workers import PACE, Worker

Json = dict[str, Any]
MARK: Final = "mark"
"""Annotation with the mark of the last write."""
_CONTENT: Final = {"PATCH": "application/merge-patch+json", "APPLY": "application/apply-patch+yaml"}
_PAUSE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Write:
    """A write to an object of a given name; `body` gets the mark. A `refused` one must never succeed."""

    what: str
    method: str
    path: str
    body: Json = field(default_factory=dict)
    refused: bool = False


Round = Sequence[Write]
"""The writes of an object's life; NAME in their paths and bodies is its name."""


class GuardedWriter(Worker):
    """Runs rounds until it is ended. A write that is refused for the moment starts again with another mark."""

    def __init__(self, server: Server, name: str, writes: Round) -> None:
        super().__init__(server)
        self._name = name
        self._writes = writes
        self._marks = 0
        self.rounds = threading.Semaphore(0)
        self.acknowledged: list[tuple[str, str]] = []
        """Kinds of writes with their marks."""
        self.postponed: Counter[int] = Counter()
        """Answers of a server that does not write at the moment, by code."""
        self.denials: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Messages that forbidden writes got, by kind of write."""
        self.wrong: list[str] = []

    def run(self) -> None:
        """Repeat the writes with one object after the other."""
        with self._client:
            number = 0
            while not self.ended.wait(PACE):
                number += 1
                for write in self._writes:
                    self._make(write, f"{self._name}-{number}")
                self.rounds.release()

    def wait(self, rounds: int, timeout: float = 60) -> None:
        """Return after so many more rounds."""
        for _ in range(rounds):
            assert self.rounds.acquire(timeout=timeout), (self.wrong, self.postponed)

    def _make(self, write: Write, name: str) -> None:
        while not self.wrong:
            self._marks += 1
            mark = f"{self._name}-mark-{self._marks}"
            if write.method == "DELETE":
                mark = f"{name} {self._marks}"
            reply = self._send(write, name, mark)
            if not _is_postponed(reply):
                self._note(write, name, mark, reply)
                return
            self.postponed[reply.status] += 1
            self.ended.wait(_PAUSE)

    def _send(self, write: Write, name: str, mark: str) -> Reply:
        # options are all that a deletion shows webhooks of itself; custom resources are deleted at once whatever this says
        body = {"gracePeriodSeconds": self._marks} if write.method == "DELETE" else _filled(write.body, name, mark)
        content = _CONTENT.get(write.method)
        method = "PATCH" if write.method == "APPLY" else write.method
        return self._client.ask(method, write.path.replace("NAME", name), body, {"Content-Type": content} if content else None)

    def _note(self, write: Write, name: str, mark: str, reply: Reply) -> None:
        if reply.status < 300 and not write.refused:
            self.acknowledged.append((write.what, mark))
        elif write.refused and 400 <= reply.status < 500 and reply.status not in {404, 409}:
            self.denials[write.what][reply.json["message"].replace(name, "NAME")] += 1
        else:
            self.wrong.append(f"{write.what}: {reply.status} {reply.body[:500]!r}")


def attempts(calls: Iterable[AdmissionCall]) -> Mapping[str, Mapping[int, Counter[str]]]:
    """Return by mark how often each webhook was called in each attempt, by the revision of the old object, 0 without one.

    kube-apiserver begins an update with an object of its cache. If that is stale, it starts again, and calls all webhooks again.
    """
    found: defaultdict[str, defaultdict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for call in calls:
        old = (call.request.get("oldObject") or {}).get("metadata") or {}
        found[_mark(call.request)][int(old.get("resourceVersion") or 0)][urlsplit(call.path).path] += 1
    return found


def counts(writers: Iterable[GuardedWriter], calls: Iterable[AdmissionCall]) -> dict[str, set[frozenset[tuple[str, int]]]]:
    """Return by kind of write how often webhooks were called for acknowledged ones; equal counts are one.

    Of an update in kube-apiserver's store, the last attempt counts. apiext must not need a second one.
    """
    marked = attempts(calls)
    found: defaultdict[str, set[frozenset[tuple[str, int]]]] = defaultdict(set)
    for writer in writers:
        for what, mark in writer.acknowledged:
            made = marked.get(mark, {0: Counter()})
            assert len(made) == 1 or max(made) < REVISION_BASE, (what, mark, made)
            found[what].add(frozenset(list(made.values())[-1].items()))
    return dict(found)


def _mark(request: Json) -> str:
    if request["operation"] == "DELETE":
        return f"{request['name']} {request['options'].get('gracePeriodSeconds')}"
    found: Json = request.get("object") or {}
    if request.get("subResource") == "status":
        conditions = (found.get("status") or {}).get("conditions") or [{}]
        return str(conditions[0].get("message", ""))
    return str(((found.get("metadata") or {}).get("annotations") or {}).get(MARK, ""))


def _filled(value: Any, name: str, mark: str) -> Any:
    """Return a body with NAME and MARK replaced."""
    if isinstance(value, dict):
        return {key: _filled(member, name, mark) for key, member in value.items()}
    if isinstance(value, list):
        return [_filled(member, name, mark) for member in value]
    return value.replace("NAME", name).replace("MARK", mark) if isinstance(value, str) else value


def _is_postponed(reply: Reply) -> bool:
    """Return whether the server does not write at the moment: a group is on its way."""
    return reply.status in {429, 503}
