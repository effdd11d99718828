"""`apiext plan`."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.cli.access_flags import ACCESS_FLAGS, access_of
from apiext.cli.interruptible import run_interruptible
from apiext.cli.object_progress import shown_progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.lab.comparison.grades import Grades
    from apiext.lab.plan.plan import ReleasePlan
    from apiext.lab.releases.interface import ObjectSource, Release
    from apiext.lab.releases.places import Access

FAILURE: Final = 3
"""Exit code of errors of usage and of sources: 1 and 2 are verdicts."""
_WIDTH: Final = 160
"""Columns where the output is no terminal."""
_GRADE_NAMES: Final = ("default", "crdify", "olm")
_FORMATS: Final = ("text", "json", "markdown", "junit")
_FAIL_ON: Final = ("warning", "steps", "breaking", "never")


class _PlanFailure(click.ClickException):
    """No plan could be made."""

    exit_code = FAILURE


class _PlanCommand(click.Command):
    """A command whose errors have an exit code of their own."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.ClickException as error:
            raise _PlanFailure(error.format_message()) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise _PlanFailure(error.format_message()) from error


_PARAMS: Final = [
    click.Argument(["new"], nargs=-1, required=True),
    click.Option(
        ["--from", "old"],
        metavar="PLACE",
        help="Definitions that are there: a file, folder, git revision, archive, kubeconfig, etcd URL or data directory "
        "(default --stored, else the git HEAD of NEW).",
    ),
    click.Option(
        ["--objects"],
        metavar="PLACE",
        help="Objects to judge: a folder, archive, kubeconfig or store (default --stored, else --from if that has objects).",
    ),
    click.Option(["--stored"], metavar="PLACE", help="Stored bytes, to count versions exactly: an etcd URL, data directory or snapshot."),
    click.Option(["--prune"], is_flag=True, help="Judge the deletion of definitions that NEW lacks, too."),
    click.Option(
        ["--config", "grades"],
        metavar="FILE",
        default="default",
        help="Grades of changes: a file, or crdify or olm (default those of apiext).",
    ),
    click.Option(["--webhook-url"], metavar="URL", help="URL of the conversion webhook, instead of that in the definitions."),
    click.Option(["--webhook-ca-file"], metavar="FILE", help="CA of the certificate at --webhook-url."),
    click.Option(
        ["--service-address"],
        metavar="NAMESPACE/NAME=HOST:PORT",
        multiple=True,
        help="Address of a webhook's Service; may be repeated. Without it, webhooks are called with a live cluster only.",
    ),
    click.Option(
        ["-o", "--output"],
        metavar="FORMAT[=FILE]",
        multiple=True,
        default=("text",),
        help="text (default), json, markdown or junit, into a file or to stdout; may be repeated.",
    ),
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
    click.Option(["--fail-on-rollback"], is_flag=True, help="Count the verdict of the rollback in the exit code."),
    click.Option(["-v", "--verbose"], is_flag=True, help="Show all changes, commands and numbers."),
    *ACCESS_FLAGS,
]


@click.command(cls=_PlanCommand, params=_PARAMS)
def plan(new: tuple[str, ...], **flags: Any) -> int:
    """Foretell what happens when the CRDs of NEW (files and folders) replace those that are there, with their objects.

    Nothing is written. Exit codes: 0 safe, 1 safe in the order of the printed steps, 2 breaking, 3 the plan could not be made.
    """
    from apiext.lab.releases.interface import SourceError

    outputs = [_output(text) for text in flags["output"]]
    try:
        found = run_interruptible(_plan(new, flags))
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    _write_steps(found, flags["steps_dir"])
    if flags["prints_steps"]:
        from apiext.lab.plan.script import script_of

        click.echo(script_of(found).text, nl=False)
    for kind, file in outputs:
        if file or not flags["prints_steps"]:
            _write(found, kind, file, verbose=flags["verbose"])
    return _exit_code(found, flags)


async def _plan(paths: tuple[str, ...], flags: Mapping[str, Any]) -> ReleasePlan:
    from apiext.lab.plan.options import PlanOptions
    from apiext.lab.plan.planner import make_plan

    access, grades = access_of(flags), _grades(flags["grades"])
    webhook, services = _webhook(flags), _services(flags["service_address"])
    async with AsyncExitStack() as stack:
        new = await _new_release(paths, access)
        names = None if flags["prune"] else [*new.definitions, *new.refused]
        origin = await _origin(paths, flags)
        old = await _old_release(origin, paths, access, names)
        stored = await _objects(flags["stored"], access, stack)
        place = flags["objects"] or (None if stored is not None else await _objects_place(flags["old"]))
        objects = await _objects(place, access, stack) if place else stored
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
    from apiext.lab.releases.crd_files import release_of_paths
    from apiext.lab.releases.places import open_release

    found = await open_release(paths[0], access) if len(paths) == 1 else await release_of_paths(paths)
    if not (found.definitions or found.refused):
        raise click.UsageError(f"there are no CRDs in {' '.join(paths)}")
    return found


async def _origin(paths: Sequence[str], flags: Mapping[str, Any]) -> str:
    """Return the place of the old definitions."""
    from apiext.lab.releases.git_revision import is_revision

    given = flags["old"] or flags["stored"]
    if given:
        return str(given)
    if await is_revision("HEAD", paths):
        return "HEAD"
    raise click.UsageError(
        f"{paths[0]} is not in a git work tree with a commit: --from names what is there (a file, folder, archive, or the word kubeconfig)"
    )


async def _old_release(origin: str, paths: Sequence[str], access: Access, names: Sequence[str] | None) -> Release:
    from apiext.lab.releases.places import open_release

    return await open_release(origin, access, paths=paths, names=names)


async def _objects_place(old: str | None) -> str | None:
    """Return the place of the old definitions if it has objects, too."""
    from apiext.lab.releases.places import PlaceKind, place_of

    if old is None:
        return None
    kind = (await place_of(old)).kind
    return old if kind in (PlaceKind.CLUSTER, PlaceKind.ARCHIVE, PlaceKind.STORE) else None


async def _objects(place: str | None, access: Access, stack: AsyncExitStack) -> ObjectSource | None:
    from apiext.lab.releases.places import open_source

    if not place:
        return None
    found = await open_source(place, access)
    stack.push_async_callback(found.close)
    return found


def _grades(text: str) -> Grades:
    from apiext.lab.comparison.grades_file import named_grades, read_grades
    from apiext.meta.configuration import ConfigurationError

    if text in _GRADE_NAMES:
        return named_grades(text)
    try:
        return read_grades(Path(text).expanduser())
    except ConfigurationError as error:
        raise click.UsageError(f"--config: {error}") from error


def _webhook(flags: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the clientConfig of the webhook in the flags."""
    import base64

    url, file = flags["webhook_url"], flags["webhook_ca_file"]
    if not url:
        if file:
            raise click.UsageError("--webhook-ca-file needs --webhook-url")
        return None
    if not url.startswith("https://"):
        raise click.UsageError(f"--webhook-url: {url!r} does not begin with https://")
    if not file:
        return {"url": url}
    try:
        return {"url": url, "caBundle": base64.b64encode(Path(file).expanduser().read_bytes()).decode()}
    except OSError as error:
        raise click.UsageError(f"--webhook-ca-file: {file}: {error.strerror}") from error


def _services(texts: Sequence[str]) -> Any:
    from apiext.webhook.service_addresses import parse_service_addresses

    try:
        return parse_service_addresses(texts) or None
    except ValueError as error:
        raise click.UsageError(f"--service-address: {error}") from error


def _output(text: str) -> tuple[str, str]:
    kind, _, file = text.partition("=")
    if kind not in _FORMATS:
        raise click.UsageError(f"-o: {kind!r} is none of {', '.join(_FORMATS)}")
    return kind, file


def _write(found: ReleasePlan, kind: str, file: str, *, verbose: bool) -> None:
    text = None if kind == "text" and not file else _text(found, kind, verbose=verbose)
    if text is None:
        _print(found, verbose=verbose)
    elif file:
        _save(Path(file).expanduser(), text)
    else:
        click.echo(text, nl=False)


def _text(found: ReleasePlan, kind: str, *, verbose: bool) -> str:
    if kind == "json":
        import orjson

        from apiext.lab.plan.document import document_of

        return orjson.dumps(document_of(found), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if kind == "markdown":
        from apiext.lab.plan.markdown import markdown_of

        return markdown_of(found)
    if kind == "junit":
        from apiext.lab.plan.junit import junit_of

        return junit_of(found)
    import io

    from rich.console import Console

    from apiext.lab.plan.text import PlanText

    buffer = io.StringIO()
    console = Console(file=buffer, highlight=False, soft_wrap=True, emoji=False, markup=False, width=_WIDTH)
    PlanText(console, details=verbose).write(found)
    return buffer.getvalue()


def _print(found: ReleasePlan, *, verbose: bool) -> None:
    from rich.console import Console

    from apiext.lab.plan.text import PlanText

    width = None if sys.stdout.isatty() else _WIDTH
    PlanText(Console(highlight=False, soft_wrap=True, emoji=False, markup=False, width=width), details=verbose).write(found)


def _write_steps(found: ReleasePlan, folder: str | None) -> None:
    from apiext.lab.plan.script import ROLLBACK_NAME, SCRIPT_NAME, rollback_script_of, script_of

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
            _save(path / name, text)
        _save(path / script_name, script.text)
        (path / script_name).chmod(0o755)


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error


def _exit_code(found: ReleasePlan, flags: Mapping[str, Any]) -> int:
    from apiext.lab.plan.plan import Safety, worst
    from apiext.lab.plan.verdict import has_warnings

    verdict = worst([found.verdict, *([found.rollback_verdict] if flags["fail_on_rollback"] else [])])
    least = flags["fail_on"]
    if least == "never" or (least == "breaking" and verdict is not Safety.BREAKING):
        return 0
    if verdict is Safety.SAFE and least == "warning" and has_warnings(found):
        return 1
    return verdict.exit_code
