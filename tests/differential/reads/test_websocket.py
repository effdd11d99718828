"""Tests of watches over WebSocket: handshakes and frames."""

from typing import Any, Final

import pytest
from aiohttp import ClientSession, TCPConnector, WSMessage, WSMsgType, WSServerHandshakeError

from apiext.base.meta.encoding import json_codec
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.objectmeta import PARTIAL, WATCH_EVENT
from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Side, Step
from tests.support.builders.crds import widget, widget_crd

pytestmark = pytest.mark.slow

BASE: Final = "/apis/sockets.example.com/v1/namespaces/default/widgets"
WATCH: Final = f"{BASE}?watch=true&timeoutSeconds=1"
ORIGIN: Final = {"Origin": "https://example.com"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PROTOBUF: Final = {"Accept": "application/vnd.kubernetes.protobuf"}
PARTIALS: Final = {"Accept": "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
INITIAL: Final = "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"


def _content(message: WSMessage) -> Any:
    """Return the event of a frame: JSON in a text frame, Protobuf in a binary one."""
    if message.type is not WSMsgType.BINARY:
        return masked(json_codec.loads(message.data.encode()))
    event = WATCH_EVENT.read(message.data)
    return event["type"], masked(kinds.read(event["object"]["raw"], PARTIAL))


async def _frames(side: Side, path: str, headers: dict[str, str], protocols: tuple[str, ...]) -> list[Any]:
    """Return the result of the handshake, and all frames up to the end."""
    async with ClientSession(connector=TCPConnector(ssl=side.context)) as session:
        try:
            async with session.ws_connect(side.url + path, headers=headers, protocols=protocols) as socket:
                frames = [(message.type, _content(message)) async for message in socket]
                return [socket.protocol, *frames]
        except WSServerHandshakeError as refused:
            return [refused.status]


@pytest.mark.parametrize(
    "path,headers,protocols",
    [
        (WATCH, ORIGIN, ()),
        (WATCH, {"Origin": "/x"}, ()),
        (WATCH, ORIGIN, ("binary.k8s.io",)),
        (WATCH, ORIGIN | {"Sec-WebSocket-Version": "6"}, ()),
        (WATCH, ORIGIN | {"Accept": "application/yaml"}, ()),
        (WATCH, ORIGIN | TABLE, ()),
        (WATCH, ORIGIN | PARTIALS, ()),
        ("/api/v1/namespaces?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Ddefault", ORIGIN | PROTOBUF, ()),
        (f"{WATCH}&labelSelector=n%3Da", ORIGIN, ()),
        (f"{WATCH}&fieldSelector=metadata.name%3Db", ORIGIN, ()),
        (f"{WATCH}&labelSelector=a%20b", ORIGIN, ()),
        (f"{WATCH}&resourceVersion=99999999", ORIGIN, ()),
        (f"{WATCH}&resourceVersion=1", ORIGIN, ()),
        (f"{WATCH}{INITIAL}", ORIGIN, ()),
        (BASE, ORIGIN, ()),
        ("/api/v1/namespaces?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dmissing", ORIGIN, ()),
    ],
)
async def test_frames(pair: Pair, path: str, headers: dict[str, str], protocols: tuple[str, ...]) -> None:
    """Accept the same handshakes with the same protocol, and send the same events."""
    with pair.served(widget_crd(group="sockets.example.com")):
        for name in ("a", "b"):
            body = widget(name, group="sockets.example.com", metadata={"labels": {"n": name}})
            assert not pair.differences(Step("POST", BASE, body))

        reference = await _frames(pair.reference, path, headers, protocols)
        ours = await _frames(pair.ours, path, headers, protocols)

    assert ours == reference
