"""The worker process of one process of pytest, and through it a server, called without an event loop."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import orjson

from apiext.tools.suites.worker import from_json
from apiext.tools.suites.worker_pool import job_message

if TYPE_CHECKING:
    from apiext.tools.suites.model import CaseResult, SuiteJob

_STOP_SECONDS: Final = 20.0


class SuiteServerError(Exception):
    """The worker process does not work."""


class SuiteServer:
    """Runs cases, one after the other. The process ends with `close`, and with the process of pytest."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "apiext.tools.suites.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )

    def run(self, job: SuiteJob) -> CaseResult:
        """Run a job with one case.

        Raises:
            SuiteServerError: the process or its server does not work.
        """
        given, answers = self._process.stdin, self._process.stdout
        if given is None or answers is None:
            raise SuiteServerError("the worker process has no input and output")
        try:
            given.write(orjson.dumps(job_message(job)) + b"\n")
            given.flush()
        except OSError as error:
            raise SuiteServerError(f"the worker process has ended: {error.strerror}") from error
        found: CaseResult | None = None
        for line in answers:
            answer = orjson.loads(line)
            if "broken" in answer:
                raise SuiteServerError(answer["broken"])
            if "done" in answer and found is not None:
                return found
            found = from_json(answer["result"])
        raise SuiteServerError("the worker process has ended")

    def close(self) -> None:
        """End the process with its server."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
