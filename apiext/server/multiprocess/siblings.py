"""Questions of a worker to the others of its server, and its answers to theirs.

The supervisor connects the two by a socket pair without a name, which no other process can reach. The question is a line of JSON; the
answer is everything up to the end.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.base.meta.log import get_logger
from apiext.base.workers.messages import receive_message, send_message

if TYPE_CHECKING:
    from apiext.base.workers.messages import ProcessMessage

_LOG: Final = get_logger(__name__)
_ANSWER_SECONDS: Final = 30.0
"""Time to read a question and to send its answer."""

AnswerQuestion = Callable[[dict[str, Any]], Awaitable[bytes]]
"""Returns the answer to a question with the given arguments."""


class SiblingAnswer(NamedTuple):
    """What a worker answered."""

    number: int
    """The number of the worker, from 1."""
    data: bytes | None
    """None if it is not there, or did not answer in time."""
    is_there: bool
    """Whether its process runs."""


class Siblings:
    """The other workers, by the channel to the supervisor."""

    def __init__(self, channel: socket.socket, index: int, workers: int) -> None:
        self.index: Final = index
        """The index of this worker, from 0."""
        self.workers: Final = workers
        """The number of workers."""
        self.stopping = asyncio.Event()
        """Set when the server shall stop."""
        self.hurry = asyncio.Event()
        """Set when the process shall end at once."""
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._answers: dict[str, AnswerQuestion] = {}
        self._asked = 0
        self._connecting: dict[int, dict[int, asyncio.Future[socket.socket | None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop.add_reader(channel, self._receive)

    def close(self) -> None:
        """Answer no more."""
        self._loop.remove_reader(self._channel)
        for task in self._tasks:
            task.cancel()

    def tell_supervisor(self, kind: str, **fields: object) -> None:
        """Send a message to the supervisor. It is lost if the supervisor has ended."""
        send_message(self._channel, kind, descriptor=None, **fields)

    def on_question(self, name: str, answer: AnswerQuestion) -> None:
        """Answer a question of others."""
        self._answers[name] = answer

    async def ask(self, name: str, *, seconds: float, **arguments: Any) -> list[SiblingAnswer]:
        """Return the answers of all other workers, in their order; each has so many seconds."""
        self._asked += 1
        number = self._asked
        others = [index for index in range(self.workers) if index != self.index]
        futures = self._connecting[number] = {index: self._loop.create_future() for index in others}
        question = json.dumps([name, arguments]).encode() + b"\n"
        try:
            self.tell_supervisor("ask", id=number)
            return await asyncio.gather(*(self._ask_one(index, futures[index], question, seconds) for index in others))
        finally:
            del self._connecting[number]
            for future in futures.values():
                if future.done() and not future.cancelled() and (connection := future.result()) is not None:
                    connection.close()

    async def _ask_one(self, index: int, future: asyncio.Future[socket.socket | None], question: bytes, seconds: float) -> SiblingAnswer:
        is_there = True
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(seconds):
                connection = await future
                if connection is None:
                    is_there = False
                else:
                    data = await self._converse(connection, question)
                    # an answer has at least a byte; without one, the other worker has ended
                    return SiblingAnswer(index + 1, data or None, is_there)
        return SiblingAnswer(index + 1, None, is_there)

    async def _converse(self, connection: socket.socket, question: bytes) -> bytes:
        await self._loop.sock_sendall(connection, question)
        found = bytearray()
        while data := await self._loop.sock_recv(connection, 1 << 16):
            found += data
        return bytes(found)

    # --- messages of the supervisor -------------------------------------------------------------------------------------

    def _receive(self) -> None:
        while True:
            try:
                message = receive_message(self._channel)
            except BlockingIOError:
                return
            if message is None:
                # without a supervisor there are no more connections
                self._loop.remove_reader(self._channel)
                self.stopping.set()
                return
            self._handle(message)

    def _handle(self, message: ProcessMessage) -> None:
        connection = None
        if message.descriptor is not None:
            connection = socket.socket(fileno=message.descriptor)
            connection.setblocking(False)  # noqa: FBT003 -- the standard library's signature
        match message.kind:
            case "stop":
                (self.hurry if self.stopping.is_set() else self.stopping).set()
            case "connected":
                future = self._connecting.get(message.fields["id"], {}).get(message.fields["worker"])
                if future is not None and not future.done():
                    future.set_result(connection)
                elif connection is not None:
                    connection.close()
            case "question" if connection is not None:
                task = self._loop.create_task(self._answer(connection))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                line = bytearray()
                while not line.endswith(b"\n"):
                    data = await self._loop.sock_recv(connection, 1 << 16)
                    if not data:
                        return
                    line += data
                name, arguments = json.loads(line)
                try:
                    answer = await self._answers[name](arguments)
                except Exception:  # noqa: BLE001 -- the asker sees that the answer is missing
                    _LOG.exception("question of another worker not answered", question=name)
                    return
                await self._loop.sock_sendall(connection, answer)
