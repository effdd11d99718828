"""Suites and their cases as pytest's collectors and items."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest

from apiext.tools.suites.model import CaseOutcome, SuiteError, SuiteJob
from apiext.tools.suites.suite_file import SuiteFiles
from apiext.tools.suites.suite_manifests import SuiteManifests
from apiext.tools.suites.worker import from_json
from apiext.tools.suites.worker_pool import job_message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from apiext.tools.suites.model import CaseResult, SuiteCase, SuiteVariant


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


_SERVER: Final = pytest.StashKey[SuiteServer]()
_READERS: Final = pytest.StashKey[tuple[SuiteFiles, SuiteManifests]]()


class CaseFailedError(Exception):
    """A case has failed. The message says why."""


class SuiteFile(pytest.File):
    """A suite: collects a test for each case with each manifest."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the cases of the suite.

        Raises:
            CollectError: the file is no suite, or has no manifest.
        """
        files, places = self.config.stash.setdefault(_READERS, (SuiteFiles(), SuiteManifests()))
        try:
            suite = files.read(self.path)
            variants = places.variants(suite)
        except SuiteError as error:
            raise self.CollectError(str(error)) from error
        for text in suite.warnings:
            warnings.warn(pytest.PytestWarning(text), stacklevel=1)
        for variant in variants:
            for case in suite.cases:
                name = f"{variant.label}::{case.kind}::{case.name}"
                yield SuiteItem.from_parent(self, name=name, variant=variant, case=case)


class SuiteItem(pytest.Item):
    """A case with one manifest."""

    def __init__(self, *, variant: SuiteVariant, case: SuiteCase, **more: Any) -> None:
        super().__init__(**more)
        self._variant = variant
        self._case = case

    def runtest(self) -> None:
        """Run the case on the server of this process.

        Raises:
            CaseFailedError: it does not pass.
        """
        stash = self.config.stash
        if _SERVER not in stash:
            stash[_SERVER] = SuiteServer()
            self.config.add_cleanup(stash[_SERVER].close)
        result = stash[_SERVER].run(SuiteJob(self._variant, [self._case]))
        if result.outcome is not CaseOutcome.PASSED:
            raise CaseFailedError(result.message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message of a failed case, without the lines of this plugin."""
        if isinstance(excinfo.value, CaseFailedError | SuiteServerError):
            return f"{self.path}:{self._case.line}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the case is."""
        return self.path, self._case.line - 1, self.name
