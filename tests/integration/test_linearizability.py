"""Tests the checker of recorded histories: it accepts what one server may answer, and finds what none may."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from hack.lib.soak.long import linearizability
from hack.lib.soak.long.history import History, Operation


def _steps(*steps: tuple[str, str, dict[str, int]]) -> list[Operation]:
    """Return operations one after the other."""
    return [
        Operation("r-1", 0, verb, outcome, **({"call": 10 * number, "returned": 10 * number + 5} | values))
        for number, (verb, outcome, values) in enumerate(steps)
    ]


def _problems(folder: Path, operations: list[Operation]) -> list[str]:
    history = History(folder / "history.jsonl")
    for operation in operations:
        history.add(operation)
    history.close()
    found = linearizability.check(history.path)
    assert found.operations == len(operations)
    return found.problems


_CREATED = ("create", "ok", {"value": 1, "revision": 5})
_RIGHT: dict[str, list[tuple[str, str, dict[str, int]]]] = {
    "life": [
        ("get", "missing", {}),
        _CREATED,
        ("create", "exists", {"value": 2}),
        ("status", "ok", {"value": 3, "revision": 6}),
        ("update", "conflict", {"base": 5, "value": 4}),
        ("update", "ok", {"base": 6, "value": 5, "revision": 8}),
        ("get", "ok", {"value": 5, "status": 3, "revision": 8}),
        ("patch", "refused", {"value": 6}),
        ("delete", "ok", {}),
        ("patch", "missing", {"value": 7}),
        ("apply", "ok", {"value": 8, "revision": 9}),
        ("get", "ok", {"value": 8, "revision": 9}),
    ],
    "unknown-that-happened": [_CREATED, ("patch", "unknown", {"value": 2}), ("get", "ok", {"value": 2, "revision": 7})],
    "unknown-that-did-not": [_CREATED, ("patch", "unknown", {"value": 2}), ("get", "ok", {"value": 1, "revision": 5})],
    "unknown-that-happens-later": [
        _CREATED,
        ("delete", "unknown", {}),
        ("get", "ok", {"value": 1, "revision": 5}),
        ("get", "missing", {}),
    ],
    "migration": [_CREATED, ("get", "ok", {"value": 1, "revision": 7}), ("update", "ok", {"base": 7, "value": 2, "revision": 8})],
    "at-the-same-time": [
        _CREATED,
        ("patch", "ok", {"value": 2, "revision": 6, "returned": 100}),
        ("get", "ok", {"value": 1, "revision": 5}),
    ],
}
_WRONG: dict[str, list[tuple[str, str, dict[str, int]]]] = {
    "stale-read": [_CREATED, ("patch", "ok", {"value": 2, "revision": 6}), ("get", "ok", {"value": 1, "revision": 5})],
    "lost-write": [_CREATED, ("get", "missing", {})],
    "lost-update": [
        _CREATED,
        ("update", "ok", {"base": 5, "value": 2, "revision": 6}),
        ("update", "ok", {"base": 5, "value": 3, "revision": 7}),
    ],
    "two-creators": [_CREATED, ("create", "ok", {"value": 2, "revision": 6})],
    "read-back-in-time": [
        _CREATED,
        ("patch", "unknown", {"value": 2}),
        ("get", "ok", {"value": 2, "revision": 7}),
        ("get", "ok", {"value": 1, "revision": 5}),
    ],
    "revision-goes-back": [_CREATED, ("patch", "ok", {"value": 2, "revision": 4})],
    "lost-status": [_CREATED, ("status", "ok", {"value": 3, "revision": 6}), ("get", "ok", {"value": 1, "revision": 6})],
    "resurrected": [_CREATED, ("delete", "ok", {}), ("get", "ok", {"value": 1, "revision": 5})],
}


@pytest.mark.parametrize("steps", _RIGHT.values(), ids=_RIGHT)
def test_right_histories(steps: list[tuple[str, str, dict[str, int]]], tmp_path: Path) -> None:
    """Accept a history that one object explains."""
    assert _problems(tmp_path, _steps(*steps)) == []


@pytest.mark.parametrize("steps", _WRONG.values(), ids=_WRONG)
def test_wrong_histories(steps: list[tuple[str, str, dict[str, int]]], tmp_path: Path) -> None:
    """Find a history that no object explains."""
    assert len(_problems(tmp_path, _steps(*steps))) == 1


def test_histories_of_many_clients(tmp_path: Path) -> None:
    """Accept what a register answers to clients at once, and find the one answer that is exchanged for an older one."""
    chance = random.Random(1)  # noqa: S311 -- no secret
    operations: list[Operation] = []
    value = revision = 0
    for number in range(60):
        # Each operation takes effect at ten times its number; it is under way for longer.
        times = {"call": number * 10 - chance.randrange(30), "returned": number * 10 + chance.randrange(30)}
        verb = "get" if number % 3 else "apply"
        if verb == "apply":
            revision, value = revision + 1, number + 1
        operations.append(Operation("r-1", number % 6, verb, "ok", **times, revision=revision, value=value))

    assert _problems(tmp_path, operations) == []

    last = operations[-1]
    operations[-1] = replace(last, revision=1, value=1)

    assert len(_problems(tmp_path, operations)) == 1
