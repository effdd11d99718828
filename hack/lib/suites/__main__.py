"""Runs the suites of a folder of openshift/api with `apiext test` and with their own runner, and compares the results, case by case."""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from apiext.tools.suites.collection import CollectedSuites, collect
from apiext.tools.suites.model import FinishedCase, SuiteError
from apiext.tools.suites.worker_pool import WorkerError, run_jobs
from hack.lib.reference import binaries
from hack.lib.suites import own_runner
from hack.lib.suites.comparison import differences, report_lines
from hack.lib.suites.ginkgo_report import read_report, results_of


def main() -> int:
    """Run the comparison and return the exit code: 1 if a case differs or a runner does not work."""
    options = _parser().parse_args()
    folder: Path = options.folder
    try:
        # its runner reads tests/<crdName>/*.yaml alone
        found = collect([str(folder)], only_folders=True)
        for problem in found.problems:
            print(f"hack/suites: {problem}", file=sys.stderr)
        if not options.report.is_file():
            print(f"hack/suites: running the suites on kube-apiserver, which takes half an hour: {options.report}", file=sys.stderr)
            own_runner.run(folder, options.report)
        ours = results_of(_run(found, options.processes))
    except (SuiteError, WorkerError, own_runner.RunnerError, binaries.ProvideError) as error:
        print(f"hack/suites: {error}", file=sys.stderr)
        return 1
    reference = read_report(options.report)
    different = differences(reference, ours)
    print("\n".join(report_lines(reference, ours, different)))
    return 1 if different or found.problems else 0


def _run(found: CollectedSuites, processes: int) -> list[FinishedCase]:
    finished: list[FinishedCase] = []

    def note(each: FinishedCase) -> bool:
        finished.append(each)
        return True

    start = time.monotonic()
    asyncio.run(run_jobs(found.jobs, note, processes=processes))
    print(f"hack/suites: apiext test ran {len(finished)} cases in {time.monotonic() - start:.1f} s", file=sys.stderr)
    return finished


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/suites", description=__doc__)
    parser.add_argument("folder", type=Path, help="a checkout of openshift/api")
    parser.add_argument(
        "--report", type=Path, required=True, metavar="FILE", help="the JSON report of its runner; written if it is missing"
    )
    parser.add_argument("--processes", type=int, default=0, metavar="N", help="servers at a time (default: one for each core)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
