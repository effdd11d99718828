"""/metrics of a server of several workers: one scrape at any worker shows the sums of all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from apiext.server.multiprocess.metric_sums import FamilyRecord, SampleRecord, metrics_of, record_families, sum_families

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prometheus_client.metrics_core import Metric

    from apiext.server.multiprocess.scoreboard import MetricsLedger, Scoreboard
    from apiext.server.multiprocess.siblings import Siblings
    from apiext.server.routes.metrics import Metrics

ANSWER_SECONDS: Final = 4.0
"""Time for another worker to count; its former metrics count if it takes longer. Prometheus waits for 10 s."""
_COUNT: Final = "metrics"
_RESET: Final = "reset"
_DONE: Final = b"done"


class WholeMetrics:
    """Implements MetricsSource over the metrics of all workers."""

    def __init__(self, own: Metrics, siblings: Siblings, ledger: MetricsLedger, scoreboard: Scoreboard) -> None:
        self._own = own
        self._siblings = siblings
        self._ledger = ledger
        self._scoreboard = scoreboard
        self._writing = asyncio.Lock()
        siblings.on_question(_COUNT, self._answer_count)
        siblings.on_question(_RESET, self._answer_reset)

    async def text(self) -> bytes:
        """Return the metrics of all workers, and of those that do not answer the former ones."""
        answers, _ = await asyncio.gather(self._siblings.ask(_COUNT, seconds=ANSWER_SECONDS), self._count())
        missing = sum(answer.data is None for answer in answers)
        return await asyncio.to_thread(self._render, missing)

    async def reset(self) -> None:
        """Implement MetricsSource.reset, in all workers."""
        self._siblings.tell_supervisor("reset")
        await asyncio.gather(self._siblings.ask(_RESET, seconds=ANSWER_SECONDS), self._own.reset())

    async def _count(self) -> None:
        """Write the metrics of this worker into the ledger."""
        async with self._writing:
            families = await self._own.families()
            await asyncio.to_thread(lambda: self._ledger.write(self._siblings.index, record_families(families)))

    async def _answer_count(self, _arguments: dict[str, Any]) -> bytes:
        await self._count()
        return _DONE

    async def _answer_reset(self, _arguments: dict[str, Any]) -> bytes:
        await self._own.reset()
        return _DONE

    def _render(self, missing: int) -> bytes:
        from prometheus_client.exposition import generate_latest
        from prometheus_client.registry import CollectorRegistry

        families = [*sum_families(self._ledger.read()), *self._workers(missing)]
        registry = CollectorRegistry()
        registry.register(_Collected(metrics_of(families)))
        return generate_latest(registry)

    def _workers(self, missing: int) -> list[FamilyRecord]:
        connections = [
            SampleRecord("apiext_server_worker_connections", (("worker", str(index + 1)),), self._scoreboard.connections(index))
            for index in range(self._siblings.workers)
        ]
        return [
            _single("apiext_server_workers", "gauge", "Workers that serve (--workers).", self._siblings.workers),
            _single(
                "apiext_server_workers_missing", "gauge", "Workers whose metrics are missing here, or those of an earlier time.", missing
            ),
            _single("apiext_server_workers_replaced", "counter", "Workers that ended unexpectedly.", self._scoreboard.replaced),
            FamilyRecord("apiext_server_worker_connections", "gauge", "Open connections of each worker.", connections),
        ]


class _Collected:
    """Metrics that are collected already (prometheus_client.registry.Collector)."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        return self._metrics


def _single(name: str, kind: str, text: str, value: float) -> FamilyRecord:
    return FamilyRecord(name, kind, text, [SampleRecord(f"{name}_total" if kind == "counter" else name, (), value)])
