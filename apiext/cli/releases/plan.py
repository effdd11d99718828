"""`apiext plan`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.cli.releases.access_flags import ACCESS_FLAGS, access_of
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.object_progress import shown_progress
from apiext.cli.releases.outputs import json_text, output_flag, parse_outputs, save, write_report
from apiext.cli.releases.verdict_command import VerdictCommand
from apiext.cli.releases.webhook_flags import services_of, webhook_flags, webhook_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from apiext.cli.releases.outputs import Output
    from apiext.resources.comparison.grades import Grades
    from apiext.tools.places import Access
    from apiext.tools.plan.plan import ReleasePlan
    from apiext.tools.releases.interface import ObjectSource, Release

_GRADE_NAMES: Final = ("default", "crdify", "olm")
_FORMATS: Final = ("text", "json", "markdown", "html", "junit")
_FAIL_ON: Final = ("warning", "steps", "breaking", "never")

_PARAMS: Final = [
    click.Argument(["new"], nargs=-1, required=True),
    click.Option(
        ["--from", "old"],
        metavar="SOURCE",
        help="Definitions that are there: a file, folder, git revision, archive, kubeconfig, etcd URL or data directory "
        "(default --stored, else the git HEAD of NEW).",
    ),
    click.Option(
        ["--objects"],
        metavar="SOURCE",
        help="Objects to judge: a folder, REVISION:FOLDER of git, archive, kubeconfig or store "
        "(default --stored, else --from if that has objects).",
    ),
    click.Option(["--stored"], metavar="SOURCE", help="Stored bytes, to count versions exactly: an etcd URL, data directory or snapshot."),
    click.Option(["--prune"], is_flag=True, help="Judge the deletion of definitions that NEW lacks, too."),
    click.Option(
        ["--config", "grades"],
        metavar="FILE",
        default="default",
        help="Grades of changes: a file, or crdify or olm (default those of apiext).",
    ),
    *webhook_flags("Without it, webhooks are called with a live cluster only."),
    output_flag(_FORMATS),
    click.Option(["--steps", "prints_steps"], is_flag=True, help="Print the steps as a shell script instead."),
    click.Option(["--steps-dir"], metavar="DIR", help="Write steps.sh, rollback.sh and their manifests to this directory."),
    click.Option(["--no-rollback"], is_flag=True, help="Do not judge the way back."),
    click.Option(
        ["--fail-on"],
        metavar="VERDICT",
        type=click.Choice(_FAIL_ON),
        default="steps",
        help="Least verdict with an exit code other than 0: warning, steps (default), breaking or never.",
    ),
    click.Option(["--fail-on-rollback"], is_flag=True, help="Exit with the verdict of the rollback if that is worse."),
    click.Option(["-v", "--verbose"], is_flag=True, help="Show all changes, commands and numbers."),
    *ACCESS_FLAGS,
]


@click.command(cls=VerdictCommand, params=_PARAMS, short_help="Foretell what new CRDs do to present clients and objects.")
def plan(new: tuple[str, ...], **flags: Any) -> int:
    """Foretell what happens when the CRDs of NEW (files and folders) replace those that are there, with their objects.

    Nothing is written. Exit codes: 0 safe, 1 safe in the order of the printed steps, 2 breaking, 3 the plan could not be made.
    """
    from apiext.tools.releases.interface import SourceError

    outputs = parse_outputs(flags["output"], _FORMATS)
    try:
        found = run_interruptible(_plan(new, flags))
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    _write_steps(found, flags["steps_dir"])
    if flags["prints_steps"]:
        from apiext.tools.plan.script import script_of

        click.echo(script_of(found).text, nl=False)
    for output in outputs:
        if output.file or not flags["prints_steps"]:
            _write(found, output, verbose=flags["verbose"])
    return _exit_code(found, flags)


async def _plan(paths: tuple[str, ...], flags: Mapping[str, Any]) -> ReleasePlan:
    from apiext.tools.plan.options import PlanOptions
    from apiext.tools.plan.planner import make_plan

    access, grades = access_of(flags), _grades(flags["grades"])
    webhook, services = webhook_of(flags), services_of(flags)
    async with AsyncExitStack() as stack:
        new = await _new_release(paths, access)
        names = {*new.definitions, *new.refused}
        origin = await _origin(paths, flags)
        old = await _old_release(origin, paths, access, None if flags["prune"] else names)
        stored = await _objects(flags["stored"], access, stack)
        place = flags["objects"] or (None if stored is not None else await _objects_place(flags["old"]))
        objects = await _objects(place, access, stack) if place else stored
        stored = await _counted(stored, origin if old.is_live else None, access, stack)
        with shown_progress() as on_progress:
            options = PlanOptions(
                grades=grades,
                webhook=webhook,
                services=services,
                calls_webhooks=old.is_live or bool(services),
                judges_rollback=not flags["no_rollback"],
                removes=flags["prune"],
                on_progress=on_progress,
            )
            return await make_plan(old, new, objects=objects, stored=stored, options=options)


async def _new_release(paths: Sequence[str], access: Access) -> Release:
    from apiext.tools.places import open_release
    from apiext.tools.releases.crd_files import release_of_paths

    found = await open_release(paths[0], access) if len(paths) == 1 else await release_of_paths(paths)
    if not (found.definitions or found.refused):
        raise click.UsageError(f"there are no CRDs in {' '.join(paths)}")
    return found


async def _origin(paths: Sequence[str], flags: Mapping[str, Any]) -> str:
    """Return the place of the old definitions."""
    from apiext.tools.releases.git_revision import is_revision

    given = flags["old"] or flags["stored"]
    if given:
        return str(given)
    if await is_revision("HEAD", paths):
        return "HEAD"
    raise click.UsageError(
        f"{paths[0]} is not in a git work tree with a commit: --from names what is there (a file, folder, archive, or the word kubeconfig)"
    )


async def _old_release(origin: str, paths: Sequence[str], access: Access, names: Collection[str] | None) -> Release:
    """Return the old definitions with some names, and all others of their groups: names of resources are unique in a group."""
    from apiext.tools.places import open_release

    groups = {name.partition(".")[2] for name in names or ()}
    return await open_release(origin, access, paths=paths, names=names, groups=groups)


async def _objects_place(old: str | None) -> str | None:
    """Return the place of the old definitions if it has objects, too."""
    from apiext.tools.places import PlaceKind, place_of

    if old is None:
        return None
    kind = (await place_of(old)).kind
    return old if kind in (PlaceKind.CLUSTER, PlaceKind.ARCHIVE, PlaceKind.STORE) else None


async def _objects(place: str | None, access: Access, stack: AsyncExitStack) -> ObjectSource | None:
    from apiext.tools.places import open_source

    if not place:
        return None
    found = await open_source(place, access)
    stack.push_async_callback(found.close)
    return found


async def _counted(stored: ObjectSource | None, cluster: str | None, access: Access, stack: AsyncExitStack) -> ObjectSource | None:
    """Return the source that counts stored objects: that of --stored, else the cluster if it counts them, as a server of apiext does."""
    from apiext.tools.places import PlaceKind, place_of
    from apiext.tools.releases.interface import StoredCounter

    found = stored
    if found is None and cluster is not None and (await place_of(cluster)).kind is PlaceKind.CLUSTER:
        found = await _objects(cluster, access, stack)
    counter: object = found
    if not isinstance(counter, StoredCounter) or await counter.counts_stored():
        return found
    if stored is not None:
        raise click.UsageError(
            f"--stored: {stored.origin} does not count stored objects: an etcd, a data directory or a snapshot is needed"
        )
    return None


def _grades(text: str) -> Grades:
    from apiext.base.meta.configuration import ConfigurationError
    from apiext.resources.comparison.grades import named_grades, read_grades

    if text in _GRADE_NAMES:
        return named_grades(text)
    try:
        return read_grades(Path(text).expanduser())
    except ConfigurationError as error:
        raise click.UsageError(f"--config: {error}") from error


def _write(found: ReleasePlan, output: Output, *, verbose: bool) -> None:
    from apiext.tools.plan.document import document_of
    from apiext.tools.plan.junit import junit_of
    from apiext.tools.plan.markdown import markdown_of
    from apiext.tools.plan.page import page_of
    from apiext.tools.plan.text import PlanText

    others = {
        "json": lambda: json_text(document_of(found)),
        "markdown": lambda: markdown_of(found),
        "html": lambda: page_of(found),
        "junit": lambda: junit_of(found),
    }
    write_report(output, lambda console: PlanText(console, details=verbose).write(found), others)


def _write_steps(found: ReleasePlan, folder: str | None) -> None:
    from apiext.tools.plan.script import ROLLBACK_NAME, SCRIPT_NAME, rollback_script_of, script_of

    if not folder:
        return
    path = Path(folder).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"--steps-dir: {path}: {error.strerror}") from error
    scripts = {SCRIPT_NAME: script_of(found, with_files=True)}
    if any(one.way_back is not None for one in found.definitions):
        scripts[ROLLBACK_NAME] = rollback_script_of(found, with_files=True)
    for script_name, script in scripts.items():
        for name, text in script.files.items():
            save(path / name, text)
        save(path / script_name, script.text)
        (path / script_name).chmod(0o755)


def _exit_code(found: ReleasePlan, flags: Mapping[str, Any]) -> int:
    from apiext.tools.plan.plan import Safety, worst
    from apiext.tools.plan.verdict import has_warnings

    verdict = worst([found.verdict, *([found.rollback_verdict] if flags["fail_on_rollback"] else [])])
    least = flags["fail_on"]
    if least == "never" or (least == "breaking" and verdict is not Safety.BREAKING):
        return 0
    if verdict is Safety.SAFE and least == "warning" and has_warnings(found):
        return 1
    return verdict.exit_code
