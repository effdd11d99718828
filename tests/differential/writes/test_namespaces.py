"""Tests of namespace deletion beside a reference with its controllers."""

from collections.abc import Iterator
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.differential.cases.deletion_steps import GROUP, crd, note
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.watching import differences

pytestmark = pytest.mark.slow

NAMESPACES: Final = "/api/v1/namespaces"
HELD: Final = f"/apis/{GROUP}/v1/namespaces/held/notes"
STUCK: Final = f"{NAMESPACES}/held"
_SETTLE: Final = 60.0
"""Seconds; the reference's controller checks a namespace after five, and again after eight."""


@pytest.fixture(scope="module")
def managed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start both servers, and the reference's controllers."""
    plane = ControlPlane(tmp_path_factory.mktemp("managed"), controller_manager=True, durable=False)
    with plane, ApiextServer(tmp_path_factory.mktemp("apiext-managed")) as server:
        pair = Pair(plane, server)
        yield pair
        pair.close()


def _wait(pair: Pair, name: str, text: str) -> None:
    """Return when both servers show a text in a namespace, or, for "", have deleted it; a watch of one second separates two checks."""
    check = Step("GET", f"{NAMESPACES}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D{name}")

    def shown(side: Side) -> bool:
        events = side.raw(check)[1].decode()
        return text in events if text else not events

    for side in (pair.reference, pair.ours):
        until(lambda side=side: shown(side), f"{text!r} in {name} of {side.url}", patience=_SETTLE)  # type: ignore[misc]


def test_deletion(managed: Pair) -> None:
    """Delete an empty namespace, and report the remaining objects of another until they are deleted."""
    first = [
        *(Step("POST", NAMESPACES, {"metadata": {"name": name}}) for name in ("marker", "empty", "held")),
        Step("POST", HELD, note("a", "example.com/x", "example.com/y")),
        Step("POST", HELD, note("b", "example.com/x")),
        Step("POST", HELD, note("c")),
        Step("DELETE", f"{NAMESPACES}/empty"),
        Step("DELETE", STUCK),
        Step("POST", HELD, note("d")),
    ]
    then = [
        Step("GET", STUCK),
        Step("DELETE", STUCK),
        Step("GET", f"{HELD}/c"),
        *(Step("PATCH", f"{HELD}/{name}", {"metadata": {"finalizers": None}}) for name in ("a", "b")),
    ]
    since = f"{NAMESPACES}?watch=true&timeoutSeconds=1&resourceVersion={{rv:{NAMESPACES}/marker}}"
    watches = [Step("GET", f"{since}&fieldSelector=metadata.name%3D{name}") for name in ("empty", "held")]
    with managed.served(crd("notes", "Note")):
        found = [line for step in first for line in managed.differences(step)]
        _wait(managed, "held", "SomeFinalizersRemain")
        found += [line for step in then for line in managed.differences(step)]
        for name in ("empty", "held"):
            _wait(managed, name, "")
        found += differences(managed, watches, [])

    assert_none(found)
