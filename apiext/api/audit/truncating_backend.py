"""Limits the size of events and batches (apiserver plugin/pkg/audit/truncate)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.audit.backend import joined

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from apiext.api.audit.backend import AuditBackend
    from apiext.api.audit.batch_options import TruncateOptions
    from apiext.api.audit.event import AuditEvent
    from apiext.api.audit.statistics import AuditStats

PLUGIN: Final = "truncate"
_TOO_LARGE: Final = "event is too large even after truncating"


class TruncatingBackend:
    """Removes the objects of requests and responses from events that are too large, and loses events that are too large without them."""

    def __init__(self, backend: AuditBackend, options: TruncateOptions, stats: AuditStats) -> None:
        self._backend = backend
        self._options = options
        self._stats = stats

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Pass the events on, in batches within the limit."""
        limit = self._options
        waits: list[Awaitable[bool]] = []
        batch: list[AuditEvent] = []
        batch_size, problems = 0, []
        for given in events:
            try:
                event, size = self._truncated(given)
            except Exception as defect:  # noqa: BLE001 -- an event is lost, whatever the defect, and not the request
                problems.append(str(defect) or type(defect).__name__)
                continue
            if batch and batch_size + size > limit.max_batch_size:
                self._pass_on(batch, waits)
                batch, batch_size = [], 0
            batch.append(event)
            batch_size += size
        self._pass_on(batch, waits)
        if problems:
            self._stats.lose(PLUGIN, len(problems), problems[0])
        return joined(waits)

    def _truncated(self, event: AuditEvent) -> tuple[AuditEvent, int]:
        """Return an event within the limit, and its size. Raises an error if there is none."""
        size, most = event.size, self._options.max_event_size
        if size > most and event.has_objects:
            event = event.truncated()
            size = event.size
        if size > most:
            raise ValueError(_TOO_LARGE)
        return event, size

    def _pass_on(self, batch: list[AuditEvent], waits: list[Awaitable[bool]]) -> None:
        if batch and (wait := self._backend.process(batch)) is not None:
            waits.append(wait)

    async def close(self) -> None:
        """Close the backend."""
        await self._backend.close()
