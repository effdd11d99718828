"""A watcher that stops reading: others see all events meanwhile, and it resumes where it was (KEP-6268 wants this for kube-apiserver)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from tests.support.builders.crds import widget, widget_crd, widgets_path
from tests.support.clients.client import Client

GROUP: Final = "slow-watchers.example.com"
PATH: Final = widgets_path(GROUP)
PAYLOAD: Final = {"text": "x" * 200_000}
WRITES: Final = 200
"""Writes of 200 KB: 40 MB, which neither the sockets nor the server's queue hold."""
OBJECTS: Final = 10


def _written(events: list[dict[str, Any]]) -> list[int]:
    """Return the numbers of the writes that events show."""
    assert {event["type"] for event in events} == {"MODIFIED"}
    return [event["object"]["spec"]["replicas"] for event in events]


def test_a_watcher_that_stops_reading_harms_nobody_and_resumes(client: Client) -> None:
    """End its watch without an error after bounded bytes; its client misses nothing, and needs no new list."""
    client.define(widget_crd(group=GROUP))
    for number in range(OBJECTS):
        client.must("POST", PATH, widget(f"w{number}", group=GROUP, any=PAYLOAD))
    start = client.must("GET", f"{PATH}?limit=1")["metadata"]["resourceVersion"]
    with (
        client.watch(PATH, resourceVersion=start) as stopped,
        client.watch(PATH, resourceVersion=start) as reading,
        ThreadPoolExecutor(1) as thread,
    ):
        others = thread.submit(reading.take, WRITES)
        for number in range(WRITES):
            client.merge(f"{PATH}/w{number % OBJECTS}", {"spec": {"replicas": number}})
        assert _written(others.result()) == list(range(WRITES))
        first = list(stopped)
    assert 0 < len(first) < WRITES
    last = first[-1]["object"]["metadata"]["resourceVersion"]
    with client.watch(PATH, resourceVersion=last) as resumed:
        rest = resumed.take(WRITES - len(first))
    assert _written(first + rest) == list(range(WRITES))
