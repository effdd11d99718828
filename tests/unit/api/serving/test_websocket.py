"""Watches over WebSocket."""

from typing import Any

import pytest
from aiohttp import ClientWebSocketResponse, WSMessage, WSMsgType, WSServerHandshakeError

from apiext.base.meta.encoding import json_codec
from tests.support.builders.crds import widget
from tests.support.event_loop import advance
from tests.support.servers.in_process import InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
ORIGIN = {"Origin": "https://example.com"}
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def _widget(name: str, **labels: str) -> dict[str, Any]:
    return widget(name, metadata={"labels": labels})


async def _connect(server: InProcess, query: str = "", *, protocols: tuple[str, ...] = (), **headers: str) -> ClientWebSocketResponse:
    return await server.session.ws_connect(
        server.url(f"{BASE}?watch=true&{query}"),
        headers=ORIGIN | {name.replace("_", "-"): text for name, text in headers.items()},
        protocols=protocols,
    )


def _event(message: WSMessage) -> Any:
    """Return the event of a text frame."""
    assert message.type is WSMsgType.TEXT
    return json_codec.loads(message.data.encode())


async def _all(socket: ClientWebSocketResponse) -> list[Any]:
    """Return all events up to the end; each must be a text frame of its own."""
    return [_event(message) async for message in socket]


async def test_sends_each_event_in_a_frame(widgets: InProcess) -> None:
    """Send existing objects and changes as in other watches, one event a frame, until the timeout."""
    for name in ("a", "b"):
        await widgets.ask("POST", BASE, _widget(name, n=name))
    socket = await _connect(widgets, "timeoutSeconds=60&labelSelector=n%3Da")
    await widgets.ask("DELETE", f"{BASE}/a")

    events = [_event(await socket.receive()) for _ in range(2)]
    advance(60)

    assert await _all(socket) == []
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("ADDED", "a"), ("DELETED", "a")]
    assert socket.close_code == 1000


async def test_initial_events_end(widgets: InProcess) -> None:
    """Send the bookmark that ends the initial events."""
    await widgets.ask("POST", BASE, _widget("a"))
    query = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"

    events = await _all(await _connect(widgets, query))

    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]


async def test_tables(widgets: InProcess) -> None:
    """Send objects in the accepted representation; columns once."""
    for name in ("a", "b"):
        await widgets.ask("POST", BASE, _widget(name))

    events = await _all(await _connect(widgets, "timeoutSeconds=1", Accept=TABLE))

    assert [event["object"]["kind"] for event in events] == ["Table", "Table"]
    assert [bool(event["object"]["columnDefinitions"]) for event in events] == [True, False]


async def test_rejects_before_the_handshake(widgets: InProcess) -> None:
    """Answer an invalid watch by HTTP."""
    with pytest.raises(WSServerHandshakeError) as refused:
        await _connect(widgets, "labelSelector=a%20b")

    assert refused.value.status == 400


async def test_ignores_messages_of_clients(widgets: InProcess) -> None:
    """Ignore messages of the client, and end the watch when it disconnects."""
    socket = await _connect(widgets)
    await socket.send_str("hello")
    await widgets.ask("POST", BASE, _widget("a"))

    event = _event(await socket.receive())
    await socket.close()

    assert event["type"] == "ADDED"
    assert socket.close_code == 1000


async def test_accepts_one_subprotocol(widgets: InProcess) -> None:
    """Accept any subprotocol if the client offers only one, as the reference does."""
    socket = await _connect(widgets, "timeoutSeconds=1", protocols=("base64.binary.k8s.io",))

    assert socket.protocol == "base64.binary.k8s.io"


@pytest.mark.parametrize(
    "headers,protocols,code",
    [
        ({"Sec_WebSocket_Version": "6"}, (), 400),
        ({"Accept": "application/yaml"}, (), 406),
    ],
)
async def test_rejects_invalid_handshakes(widgets: InProcess, headers: dict[str, str], protocols: tuple[str, ...], code: int) -> None:
    """Reject an old WebSocket version and a media type that watches do not support."""
    with pytest.raises(WSServerHandshakeError) as refused:
        await _connect(widgets, protocols=protocols, **headers)

    assert refused.value.status == code


async def test_upgrades_watches_only(widgets: InProcess) -> None:
    """Answer requests other than watches by HTTP."""
    answer = await widgets.ask("GET", BASE, Connection="Upgrade", Upgrade="websocket", **ORIGIN)

    assert (answer.status, answer.json["items"]) == (200, [])
