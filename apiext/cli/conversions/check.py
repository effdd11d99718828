"""`apiext convert check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.texts import counted
from apiext.cli.releases.access_flags import ACCESS_FLAGS, access_of
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.outputs import json_text, output_flag, parse_outputs, write_output
from apiext.cli.releases.verdict_command import VerdictCommand
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.tools.conversion_files import CheckedConversion

_FORMATS: Final = ("text", "json")
_INVALID: Final = 2
WARNED: Final = 1
"""The exit code for warnings with --fail-on=warning."""
CRDS: Final = click.Option(
    ["--crds"],
    metavar="SOURCE",
    help="The CRDs: a file, folder, git revision, archive, etcd or data directory, or kubeconfig for those of the cluster (default FILE).",
)
FAIL_ON: Final = click.Option(
    ["--fail-on"],
    metavar="SEVERITY",
    type=click.Choice(["warning", "problem"]),
    default="problem",
    help="Least severity with an exit code other than 0: warning or problem (default).",
)
_PARAMS: Final = [
    click.Argument(["files"], metavar="FILE...", nargs=-1, required=True),
    CRDS,
    FAIL_ON,
    output_flag(_FORMATS),
    *ACCESS_FLAGS,
]


@click.command(cls=VerdictCommand, params=_PARAMS, short_help="Check rules against the schemas of their CRDs.")
def check(files: tuple[str, ...], crds: str | None, fail_on: str, output: tuple[str, ...], **flags: Any) -> int:
    """Check the Conversion objects in files and folders against the schemas of their CRDs.

    Prints problems, warnings, fields that rules drop, and fields that the annotation conversion.apiext.dev/carried carries. Exit codes:
    0 the rules can be used, 1 with warnings (--fail-on=warning), 2 they cannot be used, 3 the check could not run.
    """
    from apiext.tools.conversion_files import check_files
    from apiext.tools.releases.interface import SourceError

    outputs = parse_outputs(output, _FORMATS)
    try:
        found = run_interruptible(check_files(files, crds, access_of(flags)))
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    for each in outputs:
        is_json = each.format == "json"
        write_output(json_text([one.as_document() for one in found]) if is_json else "".join(f"{line}\n" for line in text_of(found)), each)
    if not all(one.found.report.is_valid for one in found):
        return _INVALID
    return WARNED if fail_on == "warning" and any(one.found.report.warnings for one in found) else 0


def text_of(found: Sequence[CheckedConversion]) -> Iterator[str]:
    """Yield the lines of a report."""
    for each in found:
        for finding in sorted(each.found.report.findings, key=lambda one: each.document.line(one.path)):
            place = f"{each.document.file}:{each.document.line(finding.path)}"
            yield printable(f"{place}: {finding.severity}: {finding}")
        report = each.found.report
        for loss in report.losses:
            yield printable(f"  lost: {loss.path} of {loss.version}: {loss.reason}")
        for carried in report.carried:
            yield printable(f"  carried: {carried.path} of {carried.version}, which {carried.target} does not have")
        counts = f"{counted(len(report.problems), 'problem')}, {counted(len(report.warnings), 'warning')}"
        yield printable(f"{each.name or each.document.file}: {'valid' if report.is_valid else 'invalid'}, {counts}")
