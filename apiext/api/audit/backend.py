"""Sinks and backends of audit events (apiserver pkg/audit, Sink and Backend)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from apiext.api.audit.event import AuditEvent, RequestFacts


class AuditSink(Protocol):
    """Takes the events of a request."""

    def receive(self, context: RequestFacts) -> Awaitable[bool] | None:
        """Take the event of the request's arrival. Return an awaitable as `process`."""
        ...

    def complete(self, context: RequestFacts, moment: int) -> Awaitable[bool] | None:
        """Take the last event of a request without recorded objects and impersonation. Return an awaitable as `process`."""
        ...

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Take events. Return an awaitable if the request must wait; its result False makes the request fail."""
        ...


class AuditBackend(Protocol):
    """Takes events until it is closed."""

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Take events; see AuditSink."""
        ...

    async def close(self) -> None:
        """Store or send the buffered events."""
        ...


@runtime_checkable
class DirectBackend(AuditBackend, Protocol):
    """A backend that makes most events itself: that of an arrival when the request ends, or a little later if it takes long."""

    def receive(self, context: RequestFacts) -> Awaitable[bool] | None:
        """Take the event of a request's arrival; see AuditSink."""
        ...

    def complete(self, context: RequestFacts, moment: int) -> Awaitable[bool] | None:
        """Take the last event of most requests; see AuditSink."""
        ...


class UnionBackend:
    """Several backends."""

    def __init__(self, backends: Sequence[AuditBackend]) -> None:
        self._backends = backends

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Give the events to all backends."""
        return joined([wait for backend in self._backends if (wait := backend.process(events)) is not None])

    async def close(self) -> None:
        """Close the backends."""
        await asyncio.gather(*(backend.close() for backend in self._backends))


def joined(waits: Sequence[Awaitable[bool]]) -> Awaitable[bool] | None:
    """Return one wait for several, None for none. Its result is True if those of all are."""
    if not waits:
        return None
    return waits[0] if len(waits) == 1 else _all(waits)


async def _all(waits: Sequence[Awaitable[bool]]) -> bool:
    return all(await asyncio.gather(*waits))
