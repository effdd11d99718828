"""A gRPC server made with `h2`: an implementation of HTTP/2 that shares nothing with the client under test."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

Handler = Callable[["H2Stream"], None]


class H2Stream:
    """One call as the server sees it."""

    def __init__(self, server: "H2Server", stream_id: int, headers: dict[str, str]) -> None:
        self.server = server
        self.id = stream_id
        self.headers = headers
        self.ended = False
        self.reset = False
        self._received = bytearray()
        self._unsent = bytearray()
        self._trailers: list[tuple[str, str]] | None = None
        self._padding: int | None = None

    def messages(self) -> list[bytes]:
        """Return the complete messages received since the last call."""
        found: list[bytes] = []
        while len(self._received) >= 5 and len(self._received) >= (end := 5 + int.from_bytes(self._received[1:5], "big")):
            found.append(bytes(self._received[5:end]))
            del self._received[:end]
        return found

    def receive(self, data: bytes) -> None:
        """Append the content of a DATA frame."""
        self._received += data

    def begin(self) -> None:
        """Send the response headers."""
        self.server.h2.send_headers(self.id, [(":status", "200"), ("content-type", "application/grpc")])

    def send(self, *messages: bytes, padding: int | None = None) -> None:
        """Queue messages, in frames with that many bytes of padding."""
        self._padding = padding
        for message in messages:
            self._unsent += b"\0" + len(message).to_bytes(4, "big") + message
        self.flush()

    def finish(self, status: int = 0, message: str = "") -> None:
        """Queue the trailers."""
        self._trailers = [("grpc-status", str(status)), ("grpc-message", message)]
        self.flush()

    def flush(self) -> None:
        """Send what the client's windows allow."""
        h2 = self.server.h2
        overhead = 0 if self._padding is None else self._padding + 1
        while self._unsent and not self.reset:
            size = min(len(self._unsent), h2.max_outbound_frame_size - overhead, h2.local_flow_control_window(self.id) - overhead)
            if size <= 0:
                break
            h2.send_data(self.id, bytes(self._unsent[:size]), pad_length=self._padding)
            del self._unsent[:size]
        if self._trailers is not None and not self._unsent and not self.reset:
            h2.send_headers(self.id, self._trailers, end_stream=True)
            self._trailers = None


class H2Server(asyncio.Protocol):
    """One connection. The handler is called after the headers of a call, after each of its messages, and at its end."""

    def __init__(self, handler: Handler, settings: dict[SettingCodes, int]) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.streams: dict[int, H2Stream] = {}
        self.error: Exception | None = None
        """The violation of the protocol by the client, if there was one."""
        self._handler = handler
        self._settings = settings
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send SETTINGS."""
        self._transport = cast("asyncio.Transport", transport)
        self.h2.local_settings = Settings(client=False, initial_values=self._settings)
        self.h2.max_inbound_frame_size = self.h2.local_settings.max_frame_size
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Pass bytes to h2 and handle its events."""
        try:
            events = self.h2.receive_data(data)
        except ProtocolError as error:
            self.error = error
            self.flush()
            self.close()
            return
        for event in events:
            self._handle(event)
        self.flush()

    def _handle(self, event: Any) -> None:
        if isinstance(event, RequestReceived):
            stream = H2Stream(self, event.stream_id, {str(name): str(value) for name, value in event.headers})
            self.streams[stream.id] = stream
            self._handler(stream)
        elif isinstance(event, DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.streams[event.stream_id].receive(event.data)
            self._handler(self.streams[event.stream_id])
        elif isinstance(event, StreamEnded):
            self.streams[event.stream_id].ended = True
            self._handler(self.streams[event.stream_id])
        elif isinstance(event, StreamReset):
            self.streams[event.stream_id].reset = True
        elif isinstance(event, WindowUpdated):
            for stream in self.streams.values():
                stream.flush()

    def refuse(self, stream: H2Stream) -> None:
        """Refuse a call with RST_STREAM."""
        stream.reset = True
        self.h2.reset_stream(stream.id, ErrorCodes.REFUSED_STREAM)

    def go_away(self, last_stream_id: int) -> None:
        """Send GOAWAY and close the connection."""
        self.h2.close_connection(last_stream_id=last_stream_id)
        self.flush()
        self.close()

    def flush(self) -> None:
        """Write what h2 has to send."""
        if self._transport is not None and (data := self.h2.data_to_send()):
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()


@asynccontextmanager
async def h2_server(
    handler: Handler, settings: dict[SettingCodes, int] | None = None, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[tuple[int, list[H2Server]]]:
    """Yield the port of a server and the list of its connections. Fail if the client violated the protocol."""
    connections: list[H2Server] = []

    def accept() -> H2Server:
        connections.append(H2Server(handler, settings or {}))
        return connections[-1]

    server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0, ssl=tls)
    try:
        async with asyncio.timeout(60):
            yield server.sockets[0].getsockname()[1], connections
    finally:
        server.close()
        for connection in connections:
            connection.close()
    assert [connection.error for connection in connections] == [None] * len(connections)


def echo(stream: H2Stream) -> None:
    """Handle a unary call: return its message."""
    if stream.ended:
        stream.begin()
        stream.send(*stream.messages())
        stream.finish()
