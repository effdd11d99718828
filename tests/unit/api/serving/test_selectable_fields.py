"""Lists by selectable fields."""

import random

import pytest

from apiext.storage.cacher import selector_indexes
from apiext.storage.interface import Selection
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import InProcess

BASE = "/apis/example.com/v1/namespaces"
SIZES = ("s", "m", "l")


async def _all(server: InProcess, path: str, selector: str) -> list[tuple[str, str]]:
    """Return the names and namespaces that a selector selects, page by page."""
    found: list[tuple[str, str]] = []
    token = ""
    while True:
        answer = await server.ask("GET", f"{path}?fieldSelector={selector}&limit=4&continue={token}")
        assert answer.status == 200, answer.body
        found += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in answer.json["items"]]
        token = answer.json["metadata"]["continue"]
        if not token:
            return found


async def test_selects_by_field_values(server: InProcess) -> None:
    """Select exactly the objects with the field values, in order and in pages, also after changes."""
    crd = widget_crd()
    crd["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.size"}]
    await server.define(crd)
    await server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    chance, sizes = random.Random(1), dict[tuple[str, str], str]()  # noqa: S311 -- the same choices on every run
    for number in range(60):
        namespace, name = chance.choice(("default", "other")), f"w{number % 25:02}"
        key, path = (namespace, name), f"{BASE}/{namespace}/widgets"
        size = chance.choice(SIZES)
        if key not in sizes:
            assert (await server.ask("POST", path, widget(name, size=size))).status == 201
            sizes[key] = size
        elif number % 3:
            change = {"spec": {"size": size}}
            await server.ask("PATCH", f"{path}/{name}", change, Content_Type="application/merge-patch+json")
            sizes[key] = size
        else:
            await server.ask("DELETE", f"{path}/{name}")
            del sizes[key]
        if number % 10 == 9:
            for wanted in SIZES:
                expected = sorted(key for key, has in sizes.items() if has == wanted)
                assert await _all(server, "/apis/example.com/v1/widgets", f"spec.size%3D{wanted}") == expected
                here = [key for key in expected if key[0] == "other"]
                assert await _all(server, f"{BASE}/other/widgets", f"spec.size%3D{wanted}") == here
                others = f"spec.size%3D{wanted},metadata.name!%3Dw03"
                assert await _all(server, "/apis/example.com/v1/widgets", others) == [key for key in expected if key[1] != "w03"]


async def test_uses_the_index(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look up lists and deletions by a selectable field in the index."""
    crd = widget_crd()
    crd["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.size"}]
    await server.define(crd)
    monkeypatch.setattr(selector_indexes, "FEW_ITEMS", 0)
    path = f"{BASE}/default/widgets"
    for size in SIZES:
        assert (await server.ask("POST", path, widget(size, size=size))).status == 201
    # The first list fills the cache.
    assert len((await server.ask("GET", path)).json["items"]) == len(SIZES)
    monkeypatch.setattr(Selection, "matches", None)

    listed = await server.ask("GET", f"{path}?fieldSelector=spec.size%3Dm")
    deleted = await server.ask("DELETE", f"{path}?fieldSelector=spec.size%3Dm")
    left = await server.ask("GET", f"{path}?fieldSelector=spec.size%3Dm")

    assert [len(answer.json["items"]) for answer in (listed, deleted, left)] == [1, 1, 0]
