"""A worker process: a server of its own, and the cases that it is sent, one after the other.

Reads one job a line from stdin, and writes one result a line to stdout. It ends with its input, and its server with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.tools.replay.outcome import ReplayError
from apiext.tools.replay.server_process import running_server
from apiext.tools.suites.installed_definition import DefinitionError, InstalledDefinition, as_sent, single_version, with_webhook
from apiext.tools.suites.model import CaseKind, CaseOutcome, CaseResult, SuiteError
from apiext.tools.suites.resource_client import ResourceClient
from apiext.tools.suites.scenarios import Scenario
from apiext.tools.suites.suite_manifests import read_definition
from apiext.tools.suites.table_cases import TableCases

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.server_client import ServerClient

_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 -- a folder in it is created for this process alone
_LEAST_FREE: Final = 256 * 1024 * 1024


class JobRunner:
    """Runs jobs on a server."""

    def __init__(self, server: ServerClient) -> None:
        self._server = server
        self._installed = InstalledDefinition(server)
        self._manifests: dict[tuple[str, str], Object] = {}

    async def run(self, job: Object, case: Object) -> CaseResult:
        """Run a case of a job. Never raise for what the case or its manifest has."""
        start = time.perf_counter()
        try:
            result = await self._run(job, CaseKind(case["kind"]), case["spec"])
        except (SuiteError, DefinitionError) as error:
            result = CaseResult(CaseOutcome.ERROR, f"{job['manifest']}: {error}")
        except ReplayError as error:
            result = CaseResult(CaseOutcome.ERROR, str(error))
        except (LookupError, TypeError, AttributeError) as error:
            # a manifest that lacks what every definition has; the server refuses most of these before
            result = CaseResult(CaseOutcome.ERROR, f"{job['manifest']}: not the form of a CRD: {type(error).__name__}: {error}")
        result.seconds = time.perf_counter() - start
        return result

    async def _run(self, job: Object, kind: CaseKind, spec: Object) -> CaseResult:
        manifest = self._manifest(job)
        if kind is CaseKind.SCENARIO:
            return await Scenario(self._server, self._installed, job).run(as_sent(with_webhook(manifest, job["conversion"])), spec)
        crd = self._definition(job, manifest)
        await self._installed.install(crd)
        return await TableCases(ResourceClient(self._server, crd), self._installed, manifest, crd).run(kind, spec)

    def _manifest(self, job: Object) -> Object:
        key = job["manifest"], job["crdName"]
        if key not in self._manifests:
            self._manifests = {key: read_definition(Path(job["manifest"]), job["crdName"])}
        return self._manifests[key]

    def _definition(self, job: Object, manifest: Object) -> Object:
        is_whole = job["allVersions"] and not job["version"]
        return as_sent(with_webhook(manifest if is_whole else single_version(manifest, job["version"]), job["conversion"]))


def scratch_folder() -> str | None:
    """Return the folder of temporary stores: one in memory if there is room, else None for the system's."""
    try:
        free = os.statvfs(_IN_MEMORY)
    except OSError:
        return None
    return str(_IN_MEMORY) if os.access(_IN_MEMORY, os.W_OK) and free.f_bavail * free.f_frsize > _LEAST_FREE else None


async def serve_jobs() -> None:
    """Run the jobs of stdin until it ends."""
    loop = asyncio.get_running_loop()
    if (task := asyncio.current_task()) is not None:
        # a second signal does not keep the server and the folder
        loop.add_signal_handler(signal.SIGTERM, lambda: task.cancelling() or task.cancel())
    reader = asyncio.StreamReader(limit=2**28)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    with tempfile.TemporaryDirectory(prefix="apiext-test-", dir=scratch_folder()) as folder:
        try:
            async with running_server(Path(folder), sys.argv[1:]) as server:
                runner = JobRunner(server)
                while line := await reader.readline():
                    job = orjson.loads(line)
                    for case in job["cases"]:
                        _say({"case": case["id"], "result": as_json(await runner.run(job, case))})
                    _say({"done": True})
        except ReplayError as error:
            _say({"broken": str(error)})


def as_json(result: CaseResult) -> Object:
    """Return a result as JSON."""
    return {name: getattr(result, name) for name in CaseResult.__slots__}


def from_json(document: Object) -> CaseResult:
    """Return the result of a JSON document."""
    return CaseResult(**document | {"outcome": CaseOutcome(document["outcome"])})


def _say(message: Any) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    with suppress(asyncio.CancelledError, BrokenPipeError):
        asyncio.run(serve_jobs())
