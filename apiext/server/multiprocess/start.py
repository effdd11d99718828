"""Starts a server of several workers."""

from __future__ import annotations

import gc
import importlib
import os
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.seat_part import SeatPart
from apiext.server.http.server import listen, url_of
from apiext.server.multiprocess.scoreboard import MetricsLedger, Scoreboard
from apiext.server.multiprocess.supervisor import SharedState, Supervisor
from apiext.server.multiprocess.worker import WorkerStart, serve_as_worker
from apiext.server.observability.log_output import configure_logging
from apiext.server.parent_process import parent_descriptor
from apiext.server.preparation import PRELOADED
from apiext.server.process_resources import raise_open_files_limit
from apiext.server.routes.process_role import SharedLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.api.audit.backend import BatchOptions
    from apiext.server.multiprocess.worker_slot import WorkerEnds
    from apiext.server.options.audit import AuditOptions
    from apiext.server.options.options import LimitOptions, ServerOptions

_SHARED: Final = (
    "apiext.storage.etcd.backend",
    "apiext.server.composition.rbac",
    "apiext.api.serving.remote.remote_scopes",
    "prometheus_client",
    "prometheus_client.exposition",
    "re2",
)
"""Modules that a worker imports at its start or soon, besides those that this module needs."""


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


def serve_with_workers(options: ServerOptions, *, started: Callable[[dict[str, str]], None], settle: Callable[[], None]) -> None:
    """Serve with `options.workers` processes until SIGTERM or SIGINT, or until the parent process ends (`exits_with_parent`).

    Call `started` with facts to print once all workers are ready, and `settle` in each worker once it is ready.

    Raises:
        StartError: the server cannot start.
    """
    raise_open_files_limit()
    with ExitStack() as stack:
        listener = stack.enter_context(listen(options.serving.bind_address, options.serving.port))
        parent = None
        if options.exits_with_parent and (parent := stack.enter_context(parent_descriptor())) is None:
            return
        scoreboard = Scoreboard(options.workers)
        shared = SharedState(scoreboard, MetricsLedger(options.workers, scoreboard), SharedLog(*map(os.memfd_create, SharedLog._fields)))
        for name in (*PRELOADED, *_SHARED):
            importlib.import_module(name)
        # a collection would write to the pages of all objects, and end that the processes share them
        gc.freeze()
        work = partial(_work, options, url_of(listener), shared, settle)
        Supervisor(listener, options.workers, shared, work, started=started).run(parent=parent)


def _work(options: ServerOptions, url: str, shared: SharedState, settle: Callable[[], None], index: int, ends: WorkerEnds) -> int:
    """Run the worker `index` in its process. Return the exit code."""
    import uvloop

    configure_logging(options.verbosity, worker=index + 1)
    start = WorkerStart(index, options.workers, url, ends, shared)
    return uvloop.run(serve_as_worker(worker_options(options, index), start, started=settle))
