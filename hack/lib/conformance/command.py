"""The command behind hack/conformance: runs the reference's own integration suite against `apiext serve` and prints a scoreboard."""

import argparse
import re
import shlex
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from hack.lib.conformance import scoreboard, suite, suite_run
from hack.lib.reference import binaries
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.process import ProcessError

ROOT: Final = Path(__file__).resolve().parents[3]
LISTED: Final = ROOT / "tests" / "conformance" / "passing.txt"
REFERENCE: Final = "apiextensions-apiserver"


def main(argv: list[str] | None = None) -> int:
    """Run the suite, print the scoreboard, and return 1 if a listed test failed."""
    options = _parser().parse_args(argv)
    try:
        tests = chosen(suite.provide(progress=_say), options.run)
        columns = {"apiext": run(tests, apiext(), jobs=options.jobs, keep=options.keep, again=listed())}
        if options.reference:
            columns["reference"] = run(tests, str(binaries.binary(REFERENCE)), jobs=options.jobs)
    except (binaries.ProvideError, ProcessError) as error:
        print(f"hack/conformance: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hack/conformance: interrupted", file=sys.stderr)
        return 130
    print(scoreboard.render(columns))
    print(scoreboard.failures(columns["apiext"], columns.get("reference", ())))
    broken, unlisted = compare(columns["apiext"], listed())
    print(verdict(broken, unlisted))
    return 1 if broken else 0


def apiext() -> str:
    """Return the command of the server under test, for the interpreter that runs this module.

    The kubeconfig of the suite points to no server, so the command disables the plugins that would connect to it. The
    reference's stand-alone server has no quotas either.
    """
    return shlex.join([sys.executable, "-m", "apiext", "serve", "--disable-admission-plugins=ResourceQuota"])


def chosen(built: suite.Suite, pattern: str = "") -> list[suite.SuiteTest]:
    """Return the tests whose names contain a match of the regular expression."""
    return [test for test in built.tests() if re.search(pattern, test.name)]


def listed() -> frozenset[str]:
    """Return the names in passing.txt: the tests that must pass."""
    lines = (line.partition("#")[0].strip() for line in LISTED.read_text().splitlines())
    return frozenset(line for line in lines if line)


def run(
    tests: Sequence[suite.SuiteTest],
    command: str,
    *,
    jobs: int,
    keep: Path | None = None,
    again: Collection[str] = (),
) -> tuple[suite_run.Result, ...]:
    """Run the tests in parallel on an etcd of their own; write the progress to standard error.

    `keep` is a folder for the output of each test and each server. A failed test in `again` runs once more, alone:
    some time windows of the suite are 100 ms, which a busy machine misses.
    """
    with tempfile.TemporaryDirectory(prefix="apiext-conformance-") as scratch:
        folder = Path(scratch)
        with Etcd(folder / "etcd", durable=False) as etcd:
            run_ = suite_run.Run(command=command, etcd_url=etcd.url, scratch=folder, python_path=ROOT, keep=keep)
            results = run_.all(tests, jobs=jobs, progress=_say)
            failed = [one.test for one in results if one.test.name in again and one.outcome is not suite_run.Outcome.PASSED]
            second = {one.test.name: one for one in run_.all(failed, jobs=1, progress=_say)}
    return tuple(second.get(one.test.name, one) for one in results)


def compare(results: Sequence[suite_run.Result], must_pass: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return the tests that are listed but did not pass, and those that passed but are not listed."""
    passed = {result.test.name for result in results if result.outcome is suite_run.Outcome.PASSED}
    ran = {result.test.name for result in results}
    return sorted((must_pass & ran) - passed), sorted(passed - must_pass)


def verdict(broken: Sequence[str], unlisted: Sequence[str]) -> str:
    """Return the result of `compare` as text."""
    lines = [f"listed in {LISTED.name}, but does not pass: {name}" for name in broken]
    lines += [f"passes, and should be listed in {LISTED.name}: {name}" for name in unlisted]
    return "\n".join(lines) or f"all that {LISTED.name} lists passes"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/conformance",
        description="Runs the integration suite of k8s.io/apiextensions-apiserver against `apiext serve` and prints a scoreboard.",
    )
    parser.add_argument("--reference", action="store_true", help="run it against the reference's own server too")
    parser.add_argument("--run", metavar="REGEX", default="", help="only the tests whose name matches")
    parser.add_argument("--jobs", type=int, metavar="N", default=suite_run.default_jobs(), help="tests at once (default: %(default)s)")
    parser.add_argument("--keep", type=_folder, metavar="DIR", help="keep the output of each test and each server there")
    return parser


def _folder(text: str) -> Path:
    path = Path(text).resolve()
    path.mkdir(parents=True, exist_ok=True)
    return path


def _say(line: str) -> None:
    print(f"hack/conformance: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
