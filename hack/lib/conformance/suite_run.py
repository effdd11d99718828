"""Runs tests of the reference's suite in parallel, each in its own process, and parses their output."""

import contextlib
import enum
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hack.lib.conformance.suite import SuiteTest
from hack.lib.servers.process import environment

TIMEOUT: Final = 150.0  # seconds for one test; the longest of the reference takes 80 on two cores

# The slowest tests start first; some of them wait for an event that must not happen.
_LONG: Final = frozenset(
    {
        "TestWebhookConverterWithWatchCache",
        "TestWebhookConverterWithoutWatchCache",
        "TestRatchetingFunctionality",
        "TestNonStructuralSchemaConditionForCRDV1Beta1MigratedData",
        "TestFieldSelectorOpenAPI",
        "TestFinalizationAndDeletion",
        "TestWebhookNotCalledForUnusedVersions",
        "TestChangeCRD",
        "TestCrossNamespaceListWatch",
        "TestCRValidationOnCRDUpdate",
        "TestForbiddenFieldsInSchema",
    }
)

# `go test` writes this character before each of its own lines in test2json mode.
_VERDICT: Final = re.compile(r"\x16\s*--- (PASS|FAIL|SKIP): (\S+) \(")
_STARTED: Final = re.compile(r"\x16=== RUN +(\S+)")
_PLACE: Final = re.compile(r"\w+_test\.go:\d+: ")


class Outcome(enum.Enum):
    """The outcome of a test."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_RUN = "not run"


_OUTCOMES: Final = {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED, "SKIP": Outcome.SKIPPED}


@dataclass(frozen=True, slots=True)
class Result:
    """The outcomes of a top-level test and its subtests; a subtest without an end counts as failed."""

    test: SuiteTest
    outcome: Outcome
    seconds: float
    subtests: Mapping[str, Outcome] = field(default_factory=dict)
    reason: str = ""  # the first words of a failure

    def count(self, outcome: Outcome) -> int:
        """Return the number of subtests with an outcome."""
        return sum(one is outcome for one in self.subtests.values())


@dataclass(frozen=True, slots=True)
class Run:
    """The state that all tests of a run share."""

    command: str
    etcd_url: str
    scratch: Path
    python_path: Path
    keep: Path | None = None

    def all(self, tests: Sequence[SuiteTest], *, jobs: int, progress: Callable[[str], None]) -> tuple[Result, ...]:
        """Run the tests, `jobs` in parallel, and return their results in the given order."""
        results: dict[str, Result] = {}
        stop: list[subprocess.Popen[bytes]] = []
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(self._one, test, stop) for test in sorted(tests, key=lambda test: test.name not in _LONG)]
            try:
                for done in as_completed(futures):
                    result = done.result()
                    results[result.test.name] = result
                    progress(f"{len(results)}/{len(tests)} {result.outcome.value:7} {result.test.name} ({result.seconds:.0f} s)")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in stop:
                    process.kill()
                raise
        return tuple(results[test.name] for test in tests)

    def _one(self, test: SuiteTest, running: list[subprocess.Popen[bytes]]) -> Result:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"{test.name}-", dir=self.scratch, ignore_cleanup_errors=True) as folder:
            log = (self.keep or Path(folder)) / f"{test.name}.log"
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [test.binary, f"-test.run=^{test.name}$", "-test.v=test2json", f"-test.timeout={TIMEOUT:.0f}s"],
                    cwd=test.folder,
                    env=self._environment(folder),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            running.append(process)
            with process:
                ended = _ended(process)
            running.remove(process)
            text = log.read_text(errors="replace")
        return read(test, text, seconds=time.monotonic() - started, ended=ended)

    def _environment(self, folder: str) -> dict[str, str]:
        values = {
            "APIEXT_COMMAND": self.command,
            "KUBE_INTEGRATION_ETCD_URL": self.etcd_url,
            "PYTHONPATH": str(self.python_path),
            "TMPDIR": folder,
        }
        if self.keep is not None:
            values["APIEXT_KEEP_LOGS"] = str(self.keep)
        return environment(**values)


def default_jobs() -> int:
    """Return two jobs for each core: tests mostly wait."""
    return 2 * (os.cpu_count() or 1)


def read(test: SuiteTest, text: str, *, seconds: float, ended: bool = True) -> Result:
    """Parse the output of a test in test2json mode."""
    outcomes: dict[str, Outcome] = dict.fromkeys(_STARTED.findall(text), Outcome.FAILED)
    outcomes |= {name: _OUTCOMES[word] for word, name in _VERDICT.findall(text)}
    outcome = outcomes.pop(test.name, Outcome.NOT_RUN)
    reason = "" if outcome in {Outcome.PASSED, Outcome.SKIPPED} else _reason(test, text, ended=ended)
    return Result(test, outcome, seconds, outcomes, reason)


def _reason(test: SuiteTest, text: str, *, ended: bool) -> str:
    """Return the last message of the innermost failed test with its source position, or the reason why it was terminated."""
    if not ended or "panic: test timed out" in text:
        return f"did not end in {TIMEOUT:.0f} s"
    if panic := re.search(r"^panic: .*", text, re.MULTILINE):
        return panic[0]
    failed = [name for word, name in _VERDICT.findall(text) if word == "FAIL"]
    innermost = max(failed, key=lambda name: name.count("/"), default=test.name)
    marks = [match.end() for match in re.finditer(rf"\x16=== (?:RUN|NAME|CONT) +{re.escape(innermost)}$", text, re.MULTILINE)]
    lines = [line for mark in marks for line in _block(text, mark)]
    located = [line for line in lines if _PLACE.match(line)] or [line for line in text.splitlines() if _PLACE.match(line.strip())] or lines
    return located[-1] if located else text.strip().rpartition("\n")[2]


def _block(text: str, start: int) -> list[str]:
    """Return the lines that a test wrote before the output of another test began."""
    block = text[start:].partition("\x16")[0]
    return [line.strip() for line in re.split(r"^ +(?=\w+\.go:\d+: )", block, flags=re.MULTILINE) if line.strip()]


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the test, which has a timeout of its own; kill it if its clean-up hangs."""
    try:
        process.wait(TIMEOUT + 15)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        return False
    return True
