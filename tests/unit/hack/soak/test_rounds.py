"""Tests of the rounds of hack/soak: the wait for the definition, and what a comparison reports."""

from collections.abc import Iterable
from typing import Any, cast

import pytest

from hack.lib.servers.caller import Answer
from hack.lib.soak import rounds
from hack.lib.soak.collection import CRDS, KEPT, widget
from hack.lib.soak.follower import Follower
from hack.lib.soak.rounds import Counts, Rounds
from hack.lib.soak.writer import Writer

_NOT_SERVED = (404, "404 page not found\n")


class _Server:
    """A server that is its own access, caller and fleet: it answers lists as scripted, the last answer again and again."""

    def __init__(self, *lists: Answer) -> None:
        self._lists = list(lists)
        self.front = self.caller = self.process = self
        self.direct = self.servers = [self]
        self.asked: list[str] = []

    def ask(self, method: str, path: str, _body: Any = None) -> Answer:
        """Answer a request."""
        self.asked.append(f"{method} {path}")
        if method == "POST":
            return 201, {}
        return self._lists.pop(0) if len(self._lists) > 1 else self._lists[0]

    def must(self, method: str, path: str) -> Any:
        """Return the body of an answer."""
        return self.ask(method, path)[1]

    def ready(self) -> bool:
        """Report that the server is ready."""
        return True

    def signal(self, _number: int) -> None:
        """Do nothing."""

    def kill(self) -> None:
        """Do nothing."""


class _Writer(Writer):
    """A writer that writes nothing."""

    def _run(self) -> None:
        self._ended.wait()


class _Follower(Follower[int]):
    """A follower that has listed, and sees nothing."""

    def _run(self) -> None:
        self.lists += 1
        self._ended.wait()


class _Quiet(Rounds):
    """Rounds in which nothing happens."""

    def _disturb(self, number: int) -> None:
        pass

    def _new_problems(self, lists: int) -> list[str]:
        return [f"{lists} lists"] if lists else []


def _stored(objects: Iterable[tuple[str, int, int]] = ()) -> Answer:
    """Return the list of objects with a name, a value and a revision each."""
    items = [widget(name, count=value) for name, value, _ in objects]
    for item, (_, _, revision) in zip(items, objects, strict=True):
        item["metadata"]["resourceVersion"] = str(revision)
    return 200, {"items": items}


class _Play:
    """A writer, a follower and rounds over a scripted server."""

    def __init__(self, *lists: Answer) -> None:
        self.server = _Server(*lists)
        access = cast("Any", self.server)
        self.writer = _Writer(access, "w")
        self.follower = _Follower(access, KEPT, lambda obj: int(obj["spec"]["count"]))
        self.rounds = _Quiet(access, [self.writer], [self.follower])

    def acknowledge(self, name: str, value: int, revision: int) -> None:
        """Let the writer have an acknowledged write."""
        self.writer.held[name] = (value, revision)
        self.writer._acknowledged.append((revision, name, value))

    def show(self, name: str, value: int, revision: int) -> None:
        """Let the follower have an event."""
        self.follower.items[name] = (value, revision)
        self.follower.seen[revision] = (name, value)


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for a watch that shows something else."""
    monkeypatch.setattr(rounds, "_PATIENCE", 0.0)


def test_waits_until_the_definition_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again while the answer is the text of a path that is not served."""
    monkeypatch.setattr(rounds, "_PATIENCE", 30.0)
    play = _Play(_NOT_SERVED, _NOT_SERVED, _stored())

    found = play.rounds.run(1)

    assert found == Counts(followers=1, rounds=1)
    assert play.server.asked == [f"POST {CRDS}", *[f"GET {KEPT}"] * 4]


def test_finds_nothing_wrong() -> None:
    """Report no problem where stored objects and events are those acknowledged; adopt a write in doubt that is stored."""
    play = _Play(_stored([("a", 1, 5), ("b", 2, 6)]))
    play.acknowledge("a", 1, 5)
    play.writer.held["b"], play.writer.doubts["b"] = None, 2
    play.writer.held["c"], play.writer.doubts["c"] = None, 3
    play.show("a", 1, 5)
    play.show("b", 2, 6)
    play.follower.lists = 1

    play.rounds._compare()

    assert play.rounds.counts == Counts(followers=1, in_doubt=2, events=2)
    assert (play.writer.held, play.writer.doubts) == ({"a": (1, 5), "b": (2, 6), "c": None}, {})


@pytest.mark.parametrize(
    "stored,seen,problem",
    [
        ([], [], "a is None, acknowledged was (1, 5)"),
        ([("a", 1, 4)], [], "a is (1, 4), acknowledged was (1, 5)"),
        ([("a", 2, 6)], [], "a is (2, 6), acknowledged was (1, 5)"),
        ([("a", 1, 5), ("x", 1, 6)], [], "x is stored, and nobody wrote it"),
        ([("a", 1, 5)], [], "1 watches do not show the 1 objects that are stored"),
        ([("a", 1, 5)], [], "watches did not show revisions [5]"),
        ([("a", 1, 5)], [("b", 1, 5)], "revision 5 is a with 1, but watches saw {('b', 1)}"),
    ],
)
def test_finds_what_is_wrong(stored: list[tuple[str, int, int]], seen: list[tuple[str, int, int]], problem: str) -> None:
    """Report lost writes, objects of nobody, and events that are missing or of another write."""
    play = _Play(_stored(stored))
    play.acknowledge("a", 1, 5)
    for event in seen:
        play.show(*event)
    play.follower.lists = 1

    play.rounds._compare()

    assert f"round 0: {problem}" in play.rounds.counts.problems
    assert play.rounds.counts.lost == ("acknowledged" in problem)


def test_finds_used_revisions_and_lists() -> None:
    """Report a revision that is not greater than those of earlier rounds, lists after the first, and problems of the clients once."""
    play = _Play(_stored([("a", 1, 5), ("b", 1, 5)]))
    play.follower.lists = 1
    play.acknowledge("a", 1, 5)
    play.rounds._compare()
    before = list(play.rounds.counts.problems)
    play.acknowledge("b", 1, 5)
    play.follower.lists = 3
    play.writer.problems.append("conflict")

    play.rounds._compare()
    after = play.rounds.counts.problems[len(before) :]

    assert "round 0: revision 5 of b was used before, the highest was 5" in after
    assert "round 0: 2 lists" in after
    assert after.count("round 0: conflict") == 1
    assert play.writer.problems == []
