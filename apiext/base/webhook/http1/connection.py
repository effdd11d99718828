"""A connection to a server: one request at a time."""

from __future__ import annotations

import asyncio
import fcntl
import select
import termios
from functools import partial
from typing import TYPE_CHECKING, Final

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpProcessingError, HttpResponseParser

from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_LINES_AT_ONCE, MAX_LINES_PART_BYTES
from apiext.base.scheduling.parse_turns import parse_turns
from apiext.base.webhook.http1.answer import REDIRECTS, HttpAnswer, decompressed
from apiext.base.webhook.http1.failures import BodyError, BrokenConnectionError, CallFailedError, MalformedAnswerError, TooLargeAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import StreamReader
    from aiohttp.http import RawResponseMessage

_SWITCHING: Final = 101
_FINAL: Final = 200
"""The first code that is no interim answer."""
_MAX_INTERIM: Final = 5
"""Interim answers to a request, as many as in Go."""
_NO_BYTES: Final = bytes(4)
"""An int of C, as the kernel returns it."""
_SHOWN_BYTES: Final = 256
"""Bytes of a malformed answer that its error shows."""
_TAKEN_BYTES: Final = 16 << 10
"""Bytes of a request that the server's machine takes whether or not the server reads them; its buffers hold more."""

Outcome = HttpAnswer | CallFailedError | BodyError | TimeoutError


class KeptConnection(BaseProtocol):
    """A connection that sends a request and takes its answer.

    An answer that is too large, late or malformed closes it, and so does a byte that is not part of an answer.
    """

    __slots__ = (
        *("_deadline", "_end", "_interim", "_is_final", "_is_large", "_limit", "_message", "_payload", "_poll", "_responses", "_timer"),
        *("_unparsed", "_waiter", "idle_since", "lost"),
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        """Make a connection for a transport. `limit` is that of an answer's bytes."""
        super().__init__(loop)
        self._limit = limit
        self._responses: HttpResponseParser | None = HttpResponseParser(self, loop, limit, read_until_eof=True, auto_decompress=False)
        self._waiter: asyncio.Future[Outcome] | None = None
        self._message: RawResponseMessage | None = None
        """The head of the answer."""
        self._payload: StreamReader | None = None
        self._unparsed = b""
        """Received data that waits for its turn."""
        self._end: Callable[[], None] | None = None
        """Takes the end of the connection, which came while data waits."""
        self._interim = 0
        self._is_final = False
        """Whether no further request may use the connection."""
        self._is_large = False
        """Whether the server may have answered before it took all of the request."""
        self._poll: select.poll | None = None
        self._deadline = 0.0
        """The event loop's time until which the present exchange may last."""
        self._timer: asyncio.TimerHandle | None = None
        """Checks the deadline; that of an earlier exchange serves the next one, too."""
        self.idle_since = 0.0
        """The event loop's time at which the last answer ended, for the owner."""
        self.lost: asyncio.Future[None] = loop.create_future()
        """Done when the connection has ended."""

    @property
    def is_reusable(self) -> bool:
        """Return whether a further request may use the connection."""
        return self.transport is not None and not self._is_final and not self.transport.is_closing()

    @property
    def is_fresh(self) -> bool:
        """Return whether a kept connection is reusable, and the server has sent nothing on it.

        The end of a connection waits in its socket while the event loop does other work.
        """
        if not self.is_reusable or self.transport is None:
            return False
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(self._descriptor(self.transport), select.POLLIN)
        return not self._poll.poll(0)

    def _takes_requests(self, transport: asyncio.Transport) -> bool:
        """Return whether the server's machine has received all that was sent.

        The transport of TLS does not know what the one below it still holds. While that holds anything, the socket is full.
        """
        descriptor = self._descriptor(transport)
        return descriptor < 0 or fcntl.ioctl(descriptor, termios.TIOCOUTQ, _NO_BYTES) == _NO_BYTES

    def _descriptor(self, transport: asyncio.Transport) -> int:
        number: int = transport.get_extra_info("socket").fileno()
        return number

    async def exchange(self, request: bytes, deadline: float) -> HttpAnswer:
        """Return the answer to a request. The deadline is a time of the event loop.

        The connection is closed if there is no answer.

        Raises:
            CallFailedError: there is no answer.
            TimeoutError: not in time.
            BodyError: the answer has no end.
        """
        if self.transport is None:
            raise BrokenConnectionError
        waiter = self._waiter = self._loop.create_future()
        self._limit_time(deadline)
        self._is_large = len(request) > _TAKEN_BYTES
        self.transport.write(request)
        try:
            outcome = await waiter
        except BaseException:
            # cancelled, perhaps when the answer had come: nobody will close the connection
            self.abort()
            raise
        finally:
            self._waiter = self._message = self._payload = None
        if isinstance(outcome, HttpAnswer):
            return outcome
        self.abort()
        try:
            raise outcome
        finally:
            del outcome, waiter  # the error's traceback refers to this frame

    def close(self) -> None:
        """Close the connection; at once if the server has not taken all of a request, which it may never do."""
        transport = self.transport
        if transport is None:
            return
        if transport.is_closing() or self._takes_requests(transport):
            transport.close()
        else:
            transport.abort()

    def retire(self) -> None:
        """Use the connection for no further request."""
        self._is_final = True

    def abort(self) -> None:
        """Close the connection at once; a request that waits gets no answer."""
        self._is_final = True
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes of an answer; a part at a time if they have many lines."""
        if self._unparsed:
            self._unparsed += data
        elif not self._is_dense(data):
            self._parse(data)
        else:
            self._unparsed = data
            if self.transport is not None:
                self.transport.pause_reading()
            parse_turns(self._loop).take(self._parse_part)

    def _is_dense(self, data: bytes) -> bool:
        """Return whether data has so many lines that parsing it takes long; those in a body of declared length are not looked at."""
        if len(data) <= MAX_LINES_PART_BYTES or (self._message is not None and not self._message.chunked):
            return False
        return data.count(b"\n") > MAX_LINES_AT_ONCE

    def _parse_part(self) -> None:
        data = self._unparsed
        size = MAX_LINES_PART_BYTES if self._is_dense(data) else len(data)
        self._unparsed = data[size:]
        self._parse(data[:size])
        if self._unparsed and (self._waiter is None or self._waiter.done()):
            # bytes that are not part of the answer
            self._unparsed = b""
            self.abort()
        if self._unparsed:
            parse_turns(self._loop).take(self._parse_part)
        elif self._end is not None:
            self._end()
        elif self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def _parse(self, data: bytes) -> None:
        if self._waiter is None or self._waiter.done() or self._responses is None:
            self.abort()
            return
        try:
            messages, upgraded, _ = self._responses.feed_data(data)
        except HttpProcessingError:
            self._finish(MalformedAnswerError("malformed HTTP chunk" if self._message is not None else _malformed(data)))
            return
        self._is_final |= bool(upgraded)
        for message, payload in messages:
            self._begin(message, payload)
        if self._message is not None:
            self._advance()

    def _begin(self, message: RawResponseMessage, payload: StreamReader) -> None:
        """Take the head of an answer."""
        if message.code < _FINAL and message.code != _SWITCHING:
            self._interim += 1
            if self._interim > _MAX_INTERIM:
                self._finish(MalformedAnswerError("net/http: too many 1xx informational responses"))
            return
        # nobody asked for a second one
        self._is_final |= message.should_close or self._message is not None
        if self._message is None:
            self._message, self._payload, self._interim = message, payload, 0

    def _advance(self) -> None:
        """Finish the call if the body is complete, too large or of no use."""
        message, payload = self._message, self._payload
        if message is None or payload is None:
            return
        if payload.is_eof():
            self._finish(self._answer(message, payload))
        elif message.code in REDIRECTS and "Location" in message.headers:
            self._is_final = True
            self._finish(HttpAnswer(message.code, message.headers, b""))
        elif payload.total_bytes > self._limit:
            self._finish(BodyError(TooLargeAnswerError()))

    def _answer(self, message: RawResponseMessage, payload: StreamReader) -> HttpAnswer | BodyError:
        transport = self.transport
        if self._is_large and transport is not None and not transport.is_closing() and not self._takes_requests(transport):
            # the server does not wait for the rest of the request
            self._is_final = True
        body = payload.read_nowait(-1)
        if len(body) > self._limit:
            return BodyError(TooLargeAnswerError())
        if body and message.headers.get("Content-Encoding", "").lower() == "gzip":
            try:
                body = decompressed(body, self._limit)
            except CallFailedError as error:
                return BodyError(error.with_traceback(None))
        return HttpAnswer(message.code, message.headers, body)

    def _limit_time(self, deadline: float) -> None:
        """Set the deadline of an exchange. A timer that ends later than the deadline is replaced, an earlier one begins again."""
        self._deadline = deadline
        timer = self._timer
        if timer is None or timer.when() > deadline:
            if timer is not None:
                timer.cancel()
            self._timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        """End the exchange if its time is up, or wait for the rest of its time."""
        self._timer = None
        if self._waiter is None:
            return
        if self._deadline > self._loop.time():
            self._timer = self._loop.call_at(self._deadline, self._expire)
        else:
            self._finish(TimeoutError())

    def _finish(self, outcome: Outcome) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        if self._message is not None and not isinstance(outcome, HttpAnswer | BodyError):
            outcome = BodyError(outcome)
        waiter.set_result(outcome)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End the call that waits, once all data is parsed; the end of the connection may be that of the body."""
        if self._unparsed:
            self._is_final, self._end = True, partial(self.connection_lost, exc)
            return
        self._end = None
        waits = self._waiter is not None and not self._waiter.done()
        responses, self._responses = self._responses, None  # it refers to the connection
        if waits and exc is None and self._message is not None and self._payload is not None and responses is not None:
            try:
                responses.feed_eof()
            except HttpProcessingError:
                pass
            else:
                self._advance()
        self._finish(BrokenConnectionError(exc if isinstance(exc, Exception) else None))
        self._is_final = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().connection_lost(exc)
        if not self.lost.done():
            self.lost.set_result(None)

    def pause_reading(self) -> None:
        """Read on: the limit of an answer is one of memory, too."""

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 -- aiohttp's
        """Do nothing; see `pause_reading`."""


def _malformed(data: bytes) -> str:
    line = data.partition(b"\n")[0].rstrip(b"\r")[:_SHOWN_BYTES].decode(errors="replace")
    return f"malformed HTTP response {formatting.quote(line)}"
