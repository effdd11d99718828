"""The worker processes of a run: each takes the next job, and runs it on its own server."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.tools.suites.model import FinishedCase
from apiext.tools.suites.worker import from_json

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.suites.model import SuiteJob

_STOP_SECONDS: Final = 20.0
_LINE: Final = 2**28
"""Bytes of a result at most."""


Finished = Callable[[FinishedCase], bool]
"""Takes a case that is finished, and returns whether the run goes on."""


class WorkerError(Exception):
    """A worker process does not work."""


async def run_jobs(jobs: Sequence[SuiteJob], on_finished: Finished, *, processes: int = 0, services: Sequence[str] = ()) -> None:
    """Run jobs in parallel, and report each case as it is finished. Stop early when `on_finished` returns False.

    `processes` is 0 for one for each core. `services` are addresses of webhooks as for `apiext serve --service-address`.

    Raises:
        WorkerError: a process or its server does not work.
    """
    pending = _in_order(jobs)
    count = min(processes or len(os.sched_getaffinity(0)), len(pending))
    stop = asyncio.Event()
    tasks = [asyncio.ensure_future(_work(pending, on_finished, stop, services)) for _ in range(count)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _in_order(jobs: Sequence[SuiteJob]) -> list[list[SuiteJob]]:
    """Return jobs in groups that share a definition, and so its compiled schemas; the largest first."""
    groups: dict[tuple[str, str], list[SuiteJob]] = {}
    for job in jobs:
        groups.setdefault((job.variant.digest, job.variant.suite.version), []).append(job)
    return sorted(groups.values(), key=lambda group: -sum(len(job.cases) for job in group))


async def _work(pending: list[list[SuiteJob]], on_finished: Finished, stop: asyncio.Event, services: Sequence[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "apiext.tools.suites.worker", *services), stdin=PIPE, stdout=PIPE, limit=_LINE, start_new_session=True
    )
    try:
        while pending and not stop.is_set():
            for job in pending.pop(0):
                if not await _run(process, job, on_finished, stop):
                    return
    finally:
        await asyncio.shield(_stop(process))


async def _run(process: Process, job: SuiteJob, on_finished: Finished, stop: asyncio.Event) -> bool:
    """Run a job. Return False if the run shall end."""
    if process.stdin is None or process.stdout is None:
        raise WorkerError("the worker process has no input and output")
    process.stdin.write(orjson.dumps(job_message(job)) + b"\n")
    with suppress(ConnectionError):
        await process.stdin.drain()
    while line := await process.stdout.readline():
        answer = orjson.loads(line)
        if "broken" in answer:
            raise WorkerError(answer["broken"])
        if "done" in answer:
            return not stop.is_set()
        if stop.is_set():
            return False
        if not on_finished(FinishedCase(job.variant, job.cases[answer["case"]], from_json(answer["result"]))):
            stop.set()
            return False
    raise WorkerError(f"the worker process ended while it ran {job.variant.suite.path}")


def job_message(job: SuiteJob) -> Object:
    """Return a job as the message to a worker process."""
    suite = job.variant.suite
    cases: list[Any] = [{"id": number, **asdict(case)} for number, case in enumerate(job.cases)]
    return {
        "manifest": str(job.variant.manifest),
        "crdName": suite.crd_name,
        "version": suite.version,
        "allVersions": suite.has_all_versions,
        "conversion": dict(suite.conversion),
        "folder": str(suite.path.parent),
        "cases": cases,
    }


async def _stop(process: Process) -> None:
    """End a worker process; it ends its server and deletes its folder."""
    if process.returncode is None:
        process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.communicate(), _STOP_SECONDS)
    if process.returncode is None:
        process.kill()
        await process.communicate()
