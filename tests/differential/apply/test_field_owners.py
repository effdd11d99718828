"""Tests of several managers that write the same objects at once: no field is lost that its owner still applies."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Side, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import MERGE, THINGS, crds, thing

pytestmark = pytest.mark.slow

APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
NAMES: Final = ("first", "second")
ROUNDS: Final = 25


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create the definitions and two objects on both servers."""
    with pair.served(*crds()):
        compared(pair, [Step("POST", f"{THINGS}?fieldManager=creator", thing(name, spec={"size": 1})) for name in NAMES])
        yield pair


def _applier(manager: str) -> Callable[[str, int], Step]:
    """Return applies of own members of maps; each other round leaves one of them out."""

    def step(name: str, number: int) -> Step:
        members = {manager: {"name": f"{number}"}} | ({f"{manager}-odd": {"name": "odd"}} if number % 2 else {})
        body = thing(name, {"labels": {manager: f"v{number}"}}, spec={"map": members})
        return Step("PATCH", f"{THINGS}/{name}?fieldManager={manager}", body, APPLY)

    return step


def _updater(name: str, number: int) -> Step:
    body = {"metadata": {"annotations": {"number": f"{number}"}}, "spec": {"text": f"{number}"}}
    return Step("PATCH", f"{THINGS}/{name}?fieldManager=updater", body, MERGE)


def _status_writer(name: str, number: int) -> Step:
    return Step("PATCH", f"{THINGS}/{name}/status?fieldManager=status", {"status": {"phase": f"{number}", "replicas": number}}, MERGE)


def _write(side: Side, step: Callable[[str, int], Step]) -> None:
    """Write all rounds to all objects on an own connection."""
    connection = Side(side.url, side.context)
    try:
        for number in range(ROUNDS):
            for name in NAMES:
                response, data = connection.raw(step(name, number))
                assert response.status == 200, data
    finally:
        connection.close()


def _outcome(side: Side) -> Any:
    """Let all writers write at once, and return the objects."""
    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(_write, side, step) for step in (_applier("one"), _applier("two"), _updater, _status_writer)]
        for one in running:
            one.result()
    return [side.ask(Step("GET", f"{THINGS}/{name}")).body for name in NAMES]


def test_no_field_is_lost(served: Pair) -> None:
    """Keep what each owner wrote last, as the reference does."""
    theirs, ours = _outcome(served.reference), _outcome(served.ours)
    last = str(ROUNDS - 1)

    for found in ours:
        assert found["metadata"]["labels"] == {"one": f"v{last}", "two": f"v{last}"}
        assert found["spec"]["map"] == {"one": {"name": last}, "two": {"name": last}}
        assert (found["spec"]["text"], found["status"]["phase"], found["spec"]["size"]) == (last, last, 1)
    assert [_without_generation(found) for found in ours] == [_without_generation(found) for found in theirs]


def _without_generation(obj: Any) -> Any:
    """Return an object without its number of changes: the writers overtake each other."""
    return masked(obj | {"metadata": {name: member for name, member in obj["metadata"].items() if name != "generation"}})
