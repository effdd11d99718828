"""`apiext explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from apiext.cli.releases.access_flags import ACCESS_FLAGS, access_of
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.outputs import json_text
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.resources.evaluation.explanation import ExplainedError
    from apiext.tools.judgement.explained_manifests import ExplainedManifest

_CLUSTER: Final = "kubeconfig"
_FILE: Final = click.Argument(["file"], metavar="FILE")
_OLD: Final = click.Option(
    ["--old"],
    metavar="SOURCE",
    help="The objects before the update: a file or folder, or kubeconfig for those of the cluster (default if --crd is the cluster; "
    "else the objects are new).",
)
_CRD: Final = click.Option(
    ["--crd"], metavar="SOURCE", default=_CLUSTER, help="The CRDs: a file or folder, or kubeconfig (default) for those of the cluster."
)
_SUBRESOURCE: Final = click.Option(
    ["--subresource"], metavar="NAME", type=click.Choice(["status"]), default=None, help="Update this subresource: status."
)
_OUTPUT: Final = click.Option(
    ["-o", "--output"], metavar="FORMAT", type=click.Choice(["text", "json"]), default="text", help="text (default) or json."
)


@click.command(
    params=[_FILE, _OLD, _CRD, _SUBRESOURCE, _OUTPUT, *ACCESS_FLAGS], short_help="Explain which violations an update may keep, and why."
)
def explain(file: str, old: str | None, crd: str, output: str, subresource: str | None, **flags: Any) -> int:
    """Explain the update of custom resources with those in FILE: all violations, which of them are tolerated (ratcheting), and why.

    The exit code is 1 if an update is refused.
    """
    from apiext.tools.judgement.explained_manifests import explain_manifests
    from apiext.tools.releases.interface import SourceError

    before = old or (crd if crd == _CLUSTER else "")
    try:
        found = run_interruptible(explain_manifests(file, crd, before, access_of(flags), subresource=subresource or ""))
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    if output == "json":
        click.echo(json_text([_document(each) for each in found]), nl=False)
    else:
        click.echo("\n".join(line for each in found for line in _lines(each)))
    return 0 if all(each.explanation.is_accepted for each in found) else 1


def _document(found: ExplainedManifest) -> dict[str, Any]:
    from apiext.tools.reports.members import members_of

    operation = "create" if found.is_create else "update"
    head = {"definition": found.definition, "object": found.key, "version": found.explanation.version, "operation": operation}
    return head | members_of(found.explanation)


def _lines(found: ExplainedManifest) -> Iterator[str]:
    explanation = found.explanation
    verdict = "is accepted" if explanation.is_accepted else "is refused"
    yield f"{'create' if found.is_create else 'update'} of {found.key} ({found.definition}, {explanation.version}) {verdict}"
    yield from _section("error", explanation.errors)
    yield from _section("tolerated", explanation.tolerated)
    yield from _section("not checked before the errors are corrected", explanation.unchecked)
    yield from (f"  dropped: {printable(text)}" for text in explanation.unknown)


def _section(title: str, explained: Sequence[ExplainedError]) -> Iterator[str]:
    for each in explained:
        yield f"  {title}: {printable(f'{each.path}: {each.message}')}"
        yield f"      {printable(each.why)}"
