"""Tests that responses with and without the watch cache are equal."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import MERGE_PATCH, Client

WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"


def _widget(name: str, **more: Any) -> dict[str, Any]:
    return widget(name, metadata={"labels": {"n": name}}) | more


STEPS: Final[list[tuple[str, str, Any]]] = [
    *(("POST", WIDGETS, _widget(name)) for name in "abcde"),
    ("POST", WIDGETS, _widget("a")),
    ("PATCH", f"{WIDGETS}/b", {"spec": {"replicas": 3}}),
    ("PATCH", f"{WIDGETS}/b", {"spec": {"replicas": 3}}),
    ("PUT", f"{WIDGETS}/c", _widget("c", metadata={"name": "c", "resourceVersion": "1"})),
    ("PATCH", f"{WIDGETS}/b/status", {"status": {"replicas": 3}}),
    ("GET", f"{WIDGETS}/b", None),
    ("GET", f"{WIDGETS}/none", None),
    ("DELETE", f"{WIDGETS}/d", None),
    ("DELETE", f"{WIDGETS}/d", None),
    ("GET", WIDGETS, None),
    ("GET", f"{WIDGETS}?labelSelector=n+in+(a,c)", None),
    ("GET", f"{WIDGETS}?fieldSelector=metadata.name!=a", None),
    ("GET", f"{WIDGETS}?limit=2", None),
    ("GET", f"{WIDGETS}?resourceVersion=0", None),
    ("GET", f"{WIDGETS}?resourceVersion={{first}}&resourceVersionMatch=Exact", None),
    ("GET", f"{WIDGETS}?resourceVersion={{first}}&resourceVersionMatch=NotOlderThan", None),
    ("GET", f"{WIDGETS}?resourceVersion=x", None),
    ("GET", f"{WIDGETS}?continue=nonsense", None),
    ("GET", f"{WIDGETS}?watch=true&resourceVersion={{first}}&timeoutSeconds=1", None),
    ("GET", f"{WIDGETS}?watch=true&timeoutSeconds=1", None),
    ("GET", f"{WIDGETS}?watch=true&labelSelector=n=b&resourceVersion={{first}}&timeoutSeconds=1", None),
    ("GET", f"{WIDGETS}?watch=true&resourceVersion=x", None),
    ("GET", "/apis/example.com/v1/widgets", None),
    ("DELETE", WIDGETS, None),
    ("GET", WIDGETS, None),
]


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[list[Client]]:
    """Return a client of a server with the cache and one of a server without it."""
    with (
        ApiextServer(tmp_path / "cached") as cached,
        ApiextServer(tmp_path / "direct", extra_args=["--watch-cache=false"]) as direct,
        Client(cached) as one,
        Client(direct) as other,
    ):
        for client in (one, other):
            client.define(widget_crd())
        yield [one, other]


def _answers(client: Client) -> Iterator[Any]:
    first = ""
    for method, path, body in STEPS:
        reply = client.ask(method, path.format(first=first), body, MERGE_PATCH if method == "PATCH" else None)
        documents = [line for line in reply.body.splitlines() if line]
        parsed = reply.json if len(documents) == 1 else sorted(map(_masked_event, documents), key=str)
        first = first or reply.json["metadata"]["resourceVersion"]
        yield method, path, reply.status, masked(parsed)


def _masked_event(line: bytes) -> Any:
    return masked(json.loads(line))


def test_same_answers(clients: list[Client]) -> None:
    """Answer writes, reads, lists at revisions, pages and watches alike."""
    with ThreadPoolExecutor() as pool:
        cached, direct = pool.map(lambda client: list(_answers(client)), clients)

    for one, other in zip(cached, direct, strict=True):
        assert one == other


def test_pages(clients: list[Client]) -> None:
    """Return later pages as of the first page, with the cache and without it."""
    found = []
    for client in clients:
        for name in "abcde":
            client.must("POST", WIDGETS, _widget(name))
        pages = [client.must("GET", f"{WIDGETS}?limit=2")]
        client.must("DELETE", f"{WIDGETS}/d")
        while token := pages[-1]["metadata"].get("continue"):
            pages.append(client.must("GET", f"{WIDGETS}?limit=2&continue={token}"))
        found.append([[item["metadata"]["name"] for item in page["items"]] for page in pages])

    assert found == [[["a", "b"], ["c", "d"], ["e"]]] * 2
