"""The options of one worker: limits of the whole server become its part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apiext.flowcontrol.seat_part import SeatPart

if TYPE_CHECKING:
    from apiext.audit.batch_options import BatchOptions
    from apiext.server.options.audit import AuditOptions
    from apiext.server.options.options import LimitOptions, ServerOptions


def worker_options(options: ServerOptions, index: int) -> ServerOptions:
    """Return the options of the worker `index`, from 0."""
    part = SeatPart(index, options.workers)
    return replace(options, limits=_limits(options.limits, part), audit=_audit(options.audit, options.workers))


def _limits(limits: LimitOptions, part: SeatPart) -> LimitOptions:
    if limits.priority_and_fairness:
        # its levels are divided, not the sum: see Controller
        return replace(limits, part=part)
    reading, writing = part.of(limits.max_in_flight), part.of(limits.max_mutating_in_flight)
    return replace(limits, part=part, max_in_flight=reading, max_mutating_in_flight=writing)


def _audit(audit: AuditOptions, workers: int) -> AuditOptions:
    """Return the options with a part of the batches a second."""
    log = None if audit.log is None else replace(audit.log, batch=_batch(audit.log.batch, workers))
    webhook = None if audit.webhook is None else replace(audit.webhook, batch=_batch(audit.webhook.batch, workers))
    return replace(audit, log=log, webhook=webhook)


def _batch(batch: BatchOptions, workers: int) -> BatchOptions:
    return replace(batch, qps=batch.qps / workers, burst=max(1, batch.burst // workers))
