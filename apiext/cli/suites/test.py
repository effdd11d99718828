"""`apiext test`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.outputs import json_text, output_flag, parse_outputs, write_output
from apiext.cli.releases.verdict_command import VerdictCommand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.cli.releases.outputs import Output
    from apiext.cli.suites.session_text import SessionText
    from apiext.tools.suites.collection import CollectedSuites
    from apiext.tools.suites.model import FinishedCase
    from apiext.tools.suites.report import RunReport

FAILED: Final = 1
INTERRUPTED: Final = 2
USAGE: Final = 4
NOTHING: Final = 5
"""Exit codes as pytest's: a case failed, Ctrl-C, the command line is wrong, no case was found."""
_FORMATS: Final = ("text", "json", "junit")
_PARAMS: Final = [
    click.Argument(["paths"], metavar="[PATH...]", nargs=-1),
    click.Option(
        ["-k", "--select", "expression"],
        metavar="EXPR",
        help="Cases to run, by file, suite, manifest and name: words, and, or, not.",
    ),
    click.Option(["-x", "--exitfirst", "exit_first"], is_flag=True, help="Stop at the first failure."),
    click.Option(
        ["-n", "--processes", "processes"], metavar="N", type=click.IntRange(min=1), help="Servers at a time (default: one for each core)."
    ),
    click.Option(["-v", "--verbose", "verbose"], is_flag=True, help="A line for each case."),
    click.Option(["--collect-only"], is_flag=True, help="Print the cases; run nothing."),
    click.Option(["--update"], is_flag=True, help="Write what was found into the files where it is not what was expected."),
    click.Option(["--yes"], is_flag=True, help="With --update: do not ask."),
    click.Option(["--coverage"], is_flag=True, help="Print what of the schemas no case touched."),
    click.Option(
        ["--service-address"],
        metavar="NAMESPACE/NAME=HOST:PORT",
        multiple=True,
        help="Address of a conversion webhook's Service; may be repeated.",
    ),
    output_flag(_FORMATS),
]


class SuiteCommandFailure(click.ClickException):
    """The command line or the suites are wrong."""

    exit_code = USAGE


class SuiteCommand(VerdictCommand):
    """A command with pytest's exit codes."""

    failure = SuiteCommandFailure


@click.command(cls=SuiteCommand, params=_PARAMS, short_help="Run suites: cases about CRDs in YAML files.")
def test(paths: tuple[str, ...], **flags: Any) -> int:
    """Run the suites in PATH... (default the current folder): cases about CRDs in YAML files, on servers in temporary folders.

    Suites are files *.testsuite.yaml, and those in tests/<crdName>/ with the layout of openshift/api. Exit codes: 0 all cases passed, 1 a
    case failed, 2 interrupted, 4 the command line is wrong, 5 there are no cases.
    """
    outputs = parse_outputs(flags["output"], _FORMATS)
    found = _collect(paths or (".",), flags["expression"])
    if flags["collect_only"]:
        return _print_cases(found)
    report, text = _run(found, outputs, flags)
    if flags["coverage"]:
        from apiext.tools.suites.coverage.coverage import coverage_of

        report.coverage = coverage_of(report.finished)
    text.end(report)
    for output in outputs:
        if output != ("text", ""):
            write_output(_formatted(report, output.format), output)
    if flags["update"]:
        from apiext.cli.suites.update_prompt import update_files

        update_files(report, asks=not flags["yes"])
    if report.is_interrupted:
        return INTERRUPTED
    if report.is_failure:
        return FAILED
    return 0 if report.finished else NOTHING


def _collect(paths: Sequence[str], expression: str | None) -> CollectedSuites:
    from apiext.tools.suites.collection import collect
    from apiext.tools.suites.model import SuiteError
    from apiext.tools.suites.selection_expression import ExpressionError, parse_selection

    try:
        return collect(paths, parse_selection(expression) if expression else None)
    except (SuiteError, ExpressionError) as error:
        raise click.UsageError(str(error)) from error


def _print_cases(found: CollectedSuites) -> int:
    for job in found.jobs:
        for case in job.cases:
            click.echo(f"{job.variant.suite.path}::{job.variant.label}::{case.kind}::{case.name}")
    for problem in found.problems:
        click.echo(str(problem), err=True)
    return FAILED if found.problems else 0 if found.count else NOTHING


def _run(found: CollectedSuites, outputs: Sequence[Output], flags: Mapping[str, Any]) -> tuple[RunReport, SessionText]:
    from apiext.cli.suites.session_text import SessionText
    from apiext.tools.suites.model import CaseOutcome
    from apiext.tools.suites.report import RunReport
    from apiext.tools.suites.worker_pool import WorkerError, run_jobs

    report = RunReport(problems=[str(each) for each in found.problems], warnings=found.warnings, deselected=found.deselected)
    processes = flags["processes"] or len(os.sched_getaffinity(0))
    text = SessionText(shown=all(each.file or each.format == "text" for each in outputs), verbose=flags["verbose"], total=found.count)
    text.begin(len({job.variant.suite.path for job in found.jobs}), min(processes, len(found.jobs)))

    def finished(each: FinishedCase) -> bool:
        report.finished.append(each)
        text.finished(each)
        return not (flags["exit_first"] and each.result.outcome is not CaseOutcome.PASSED)

    start = time.monotonic()
    if found.jobs:
        try:
            run_interruptible(run_jobs(found.jobs, finished, processes=processes, services=flags["service_address"]))
        except click.exceptions.Abort:
            report.is_interrupted = True
        except WorkerError as error:
            raise click.ClickException(str(error)) from error
    report.seconds = time.monotonic() - start
    return report, text


def _formatted(report: RunReport, kind: str) -> str:
    if kind == "json":
        return json_text(report.as_document())
    from apiext.tools.suites.report import junit_of

    return junit_of(report)
