"""The page, its data and its events, over a server in the process of the tests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pytest
from aiohttp import ClientResponse
from aiohttp.test_utils import make_mocked_request

from apiext.api.authorization.authorizer import ALLOWED, NO_OPINION, Verdict
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.resources.conversion.known import Origin
from apiext.server.version_map import handler
from apiext.server.version_map import handler as event_stream
from apiext.server.version_map.live_map import RunningMap
from tests.support.builders.converted_widgets import conversion, old_widget, widgets_crd
from tests.support.builders.crds import crd, version, widget
from tests.support.event_loop import until
from tests.support.servers.in_process import ADMIN, CRDS, InProcess

NAME: Final = "widgets.example.com"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
PAGE: Final = "/apiext/versions"
SCHEMA: Final = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string", "maxLength": 3}}}},
}


@dataclass
class Reader:
    """A client of the event stream, which keeps the map as a page does."""

    response: ClientResponse
    entries: dict[str, Any] = field(default_factory=dict)
    place: str = ""
    resets: int = 0
    sent: list[str] = field(default_factory=list)
    """The names of all definitions that came."""

    async def take(self) -> None:
        """Read until the map is complete again.

        Raises:
            EOFError: the server has ended the stream.
        """
        event = ""
        while line := (await self.response.content.readline()).decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "event":
                event = value
            elif name == "id":
                self.place = value
            elif name == "data" and event == "map":
                self._apply(json.loads(value))
            elif name == "data":
                return
        raise EOFError

    def _apply(self, change: dict[str, Any]) -> None:
        if change["reset"]:
            self.entries.clear()
            self.resets += 1
        for name in change["removed"]:
            self.entries.pop(name, None)
        for entry in change["definitions"]:
            self.entries[entry["name"]] = entry
            self.sent.append(entry["name"])

    async def until(self, name: str, **wanted: Any) -> dict[str, Any]:
        """Read until an entry has these members."""
        async with asyncio.timeout(30):
            while any(self.entries.get(name, {}).get(key) != value for key, value in wanted.items()):
                await self.take()
        return dict(self.entries[name])


@asynccontextmanager
async def reading(server: InProcess, place: str = "") -> AsyncIterator[Reader]:
    """Open the event stream, at a place if one is given."""
    headers = {"Last-Event-ID": place} if place else {}
    async with server.session.get(server.url(f"{PAGE}/events"), headers=headers) as response:
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        yield Reader(response)


async def _old_and_new(server: InProcess) -> None:
    """Store an object that is invalid today in v1, and one in v2."""
    await server.define(crd("widgets", version("v1", storage=True), version("v2")))
    assert (await server.ask("POST", WIDGETS, widget("old", size="large"))).status == 201
    found = (await server.ask("GET", f"{CRDS}/{NAME}")).json
    found["spec"]["versions"] = [version("v1", schema=SCHEMA, deprecated=True), version("v2", storage=True, schema=SCHEMA)]
    assert (await server.ask("PUT", f"{CRDS}/{NAME}", found)).status == 200
    assert (await server.ask("POST", WIDGETS, widget("new", size="s"))).status == 201


def _rows(entry: dict[str, Any]) -> dict[str, Any]:
    return {row["name"]: row["objects"] for row in entry["versions"]}


async def test_shows_the_page(server: InProcess) -> None:
    """Answer with the page and its policy, for GET only, and with 404 below it."""
    answer = await server.ask("GET", PAGE)

    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert (await server.ask("POST", PAGE)).status == 405
    assert (await server.ask("GET", f"{PAGE}/none")).status == 404
    assert (await server.ask("GET", f"{PAGE}/")).status == 404
    assert not server.version_map.live.is_running


async def test_data_is_complete(server: InProcess) -> None:
    """Answer with the counts of all definitions, which were not counted before."""
    await _old_and_new(server)
    await server.define(crd("gadgets", kind="Gadget"))

    found = {entry["name"]: entry for entry in (await server.ask("GET", f"{PAGE}/data")).json["definitions"]}
    assert list(found) == ["gadgets.example.com", NAME]
    assert _rows(found[NAME]) == {"v1": 1, "v2": 1}
    assert found[NAME]["versions"][0]["warning"] == "example.com/v1 Widget is deprecated; use example.com/v2 Widget"
    assert [step["does"] for step in found[NAME]["next"]] == ["Store 1 object in v2", "Stop serving v1, once no client uses it"]
    assert found["gadgets.example.com"]["objects"] == 0


@pytest.mark.parametrize("is_loaded", [True, False])
async def test_changes_come_live(server: InProcess, is_loaded: bool) -> None:  # noqa: FBT001 -- pytest's parameter
    """Send new definitions, changed counts and removed definitions, with the resource's watch cache and without it."""
    await _old_and_new(server)
    if is_loaded:
        assert (await server.ask("GET", WIDGETS)).status == 200
    async with reading(server) as reader:
        entry = await reader.until(NAME, objects=2)
        assert _rows(entry) == {"v1": 1, "v2": 1}
        await server.ask("POST", WIDGETS, widget("third", size="s"))
        assert _rows(await reader.until(NAME, objects=3)) == {"v1": 1, "v2": 2}
        await server.define(crd("gadgets", kind="Gadget"))
        await reader.until("gadgets.example.com", objects=0)
        await server.ask("DELETE", f"{CRDS}/gadgets.example.com")
        async with asyncio.timeout(30):
            while "gadgets.example.com" in reader.entries:
                await reader.take()
    assert reader.resets == 1


async def test_names_what_is_wrong(server: InProcess) -> None:
    """Name invalid and unreadable objects after a search in worker processes, and again after their repair."""
    await _old_and_new(server)
    await server.backend.create("/registry/example.com/widgets/default/broken", b"k8s:enc:aesgcm:v1:key:\x00")
    wrong = {"checked": 3, "complete": True, "invalid": 1, "unreadable": 1, "failed": False}
    async with reading(server) as reader:
        entry = await reader.until(NAME, problems=wrong)

    assert [(one["key"], one["state"]) for one in entry["names"]["problems"]] == [
        ("default/broken", "undecodable"),
        ("default/old", "invalid"),
    ]
    assert entry["unknown"] == 1


async def test_resumes_where_it_was(server: InProcess) -> None:
    """Send a reader that comes back what has changed since, and the whole map after an unknown place."""
    await server.define(crd("widgets"))
    await server.define(crd("gadgets", kind="Gadget"))
    async with reading(server) as reader:
        await reader.until(NAME, problems={"checked": 0, "complete": True, "invalid": 0, "unreadable": 0, "failed": False})
        await reader.until("gadgets.example.com", objects=0, problems=reader.entries[NAME]["problems"])
    await server.ask("POST", WIDGETS, widget("a"))
    async with reading(server, reader.place) as again:
        again.entries = reader.entries
        await again.until(NAME, objects=1)
    assert (again.resets, set(again.sent)) == (0, {NAME})
    for place in ("0123.4", f"{again.place}0", "x", f"{again.place.partition('.')[0]}.0"):
        async with reading(server, place) as fresh:
            await fresh.take()
        assert fresh.resets == 1
        assert set(fresh.entries) == {NAME, "gadgets.example.com"}


async def test_an_idle_stream_stays_open(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send comments while nothing changes."""
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.01)
    async with reading(server) as reader:
        await reader.take()
        async with asyncio.timeout(30):
            while await reader.response.content.readline() != b": still here\n":
                pass


async def test_ends_with_the_server(server: InProcess) -> None:
    """End the streams when the server ends its watches, and refuse later ones."""
    async with reading(server) as reader:
        await reader.take()
        await server.version_map.watches.end(0.0)
        with pytest.raises(EOFError):
            await reader.take()
    assert (await server.ask("GET", f"{PAGE}/events")).status == 429


async def test_limits_the_streams(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse more readers than fit; a reader that goes makes room."""
    monkeypatch.setattr(handler, "MAX_STREAMS", 1)
    async with reading(server) as reader:
        await reader.take()
        refused = await server.ask("GET", f"{PAGE}/events")
        assert (refused.status, refused.headers["Retry-After"]) == (429, "10")
    await until(lambda: not len(server.version_map.watches))
    async with reading(server) as reader:
        await reader.take()


async def test_works_only_for_readers(server: InProcess) -> None:
    """Stop all work some time after the last reader, and start again with the next one."""
    await server.define(crd("widgets"))
    live = server.version_map.live
    live.linger = 0.0
    async with reading(server) as reader:
        await reader.until(NAME, objects=0)
        assert live.is_running
    await until(lambda: not live.is_running)
    async with reading(server) as reader:
        await reader.until(NAME, objects=0)


async def test_hides_names() -> None:
    """Show names only while the authorizer allows a list, asked again for each change."""
    allowed = True

    async def authorize(_user: UserInfo, info: RequestInfo) -> Verdict:
        return NO_OPINION if info.verb == "list" and info.resource == "widgets" and not allowed else ALLOWED

    async with InProcess(authorize=authorize) as server:
        await _old_and_new(server)
        async with reading(server) as reader:
            async with asyncio.timeout(30):
                while not reader.entries.get(NAME, {}).get("names", {}).get("problems"):
                    await reader.take()
            allowed = False
            await server.ask("POST", WIDGETS, widget("third", size="s"))
            entry = await reader.until(NAME, objects=3)
    assert entry["names"] == {}
    assert entry["hidden"] == {"problems": "widgets.example.com"}
    assert entry["problems"]["invalid"] == 1


async def test_rights_change_while_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take names back, and show them again, when the permission to list changes; also from a reader that comes back."""
    monkeypatch.setattr(event_stream, "RIGHTS_SECONDS", 0.02)
    allowed = True

    async def authorize(_user: UserInfo, info: RequestInfo) -> Verdict:
        return NO_OPINION if info.verb == "list" and info.resource == "widgets" and not allowed else ALLOWED

    async def taken(reader: Reader, *, names: bool) -> None:
        async with asyncio.timeout(30):
            while bool(reader.entries.get(NAME, {}).get("names", {}).get("problems")) is not names:
                await reader.take()

    async with InProcess(authorize=authorize) as server:
        await _old_and_new(server)
        async with reading(server) as reader:
            await taken(reader, names=True)
            for allowed in (False, True):
                await taken(reader, names=allowed)
        allowed = False
        async with reading(server, reader.place) as again:
            again.entries = reader.entries
            await taken(again, names=False)
    assert (reader.resets, again.resets) == (1, 0)
    assert again.entries[NAME]["problems"]["invalid"] == 1


async def test_shows_rules(server: InProcess) -> None:
    """Show that rules convert a definition's objects, with counts by version; say why they do not once they are invalid."""
    server.converters.known.put(Origin.FILE, conversion())
    await server.define(widgets_crd())
    async with reading(server) as reader:
        await reader.until(NAME, objects=0)
        assert (reader.entries[NAME]["conversion"]["strategy"], reader.entries[NAME]["conversion"]["problems"]) == ("Rules", [])
        assert (await server.ask("POST", WIDGETS, old_widget(size=1))).status == 201
        async with asyncio.timeout(30):
            while not reader.entries[NAME]["conversion"]["routes"]:
                await reader.take()
        route = reader.entries[NAME]["conversion"]["routes"][0]
        server.converters.known.put(Origin.FILE, conversion({"teleport": {}}))
        async with asyncio.timeout(30):
            while not reader.entries[NAME]["conversion"]["problems"]:
                await reader.take()

    assert (route["by"], route["failed"]) == ("rules", 0)
    assert "spec.spokes[0].rules[0]" in reader.entries[NAME]["conversion"]["problems"][0]


class _Wire:
    """A connection whose client may stop reading."""

    output_size = 0

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.data = b""

    async def write(self, data: bytes) -> None:
        await self.open.wait()
        self.data += data


async def test_a_slow_reader_gets_the_latest_state(server: InProcess) -> None:
    """Keep no changes for a reader that does not read: afterwards it gets what has changed in one piece."""
    await server.define(crd("widgets"))
    assert (await server.ask("GET", WIDGETS)).status == 200
    wire, stream = _Wire(), event_stream.MapStream()
    request = make_mocked_request("GET", f"{PAGE}/events", writer=wire)
    with server.version_map.live.reading() as state:
        sending = asyncio.create_task(event_stream.send_events(request, stream, state, ADMIN, _allow))
        await until(lambda: b'"objects":0,' in wire.data)
        wire.open.clear()
        for number in range(4):
            await server.ask("POST", WIDGETS, widget(f"w{number}"))
            await until(partial(_has, state, number + 1))
        wire.open.set()
        await until(lambda: b'"objects":4,' in wire.data)
        stream.close()
        await sending

    states = [text for text in (b'"objects":1,', b'"objects":2,', b'"objects":3,') if text in wire.data]
    assert len(states) <= 1
    assert wire.data.endswith(b"0\r\n\r\n")


def _has(state: RunningMap, count: int) -> bool:
    """Report whether the map shows a number of widgets."""
    changes = state.changes_since("")
    return changes is not None and bool(changes.entries[0].shown["objects"] == count)


async def _allow(_user: UserInfo, _info: RequestInfo) -> Verdict:
    return ALLOWED
