"""`apiext convert test`."""

from __future__ import annotations

import os
import random
import tempfile
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.cli.conversions.check import CRDS, FAIL_ON, WARNED, text_of
from apiext.cli.releases.access_flags import ACCESS_FLAGS, access_of
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.outputs import json_text, output_flag, parse_outputs, write_output
from apiext.cli.releases.verdict_command import FAILURE, VerdictCommand
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.resources.authoring.trials import PairTrial
    from apiext.resources.authoring.tried_rules import TriedRules
    from apiext.tools.conversion_files import CheckedConversion

_FORMATS: Final = ("text", "json")
_BROKEN: Final = 2
_STORAGE: Final = "HYPOTHESIS_STORAGE_DIRECTORY"
_PARAMS: Final = [
    click.Argument(["files"], metavar="FILE...", nargs=-1, required=True),
    CRDS,
    click.Option(
        ["--objects"],
        metavar="SOURCE",
        help="Objects to try, too: a folder, archive, kubeconfig or store.",
    ),
    click.Option(
        ["--examples"],
        metavar="N",
        type=click.IntRange(min=0),
        default=200,
        help="Objects to generate for each pair of versions and direction (default 200); 0 for none.",
    ),
    click.Option(["--seed"], metavar="N", type=int, default=None, help="Repeat the run that printed this number (default a random one)."),
    FAIL_ON,
    output_flag(_FORMATS),
    *ACCESS_FLAGS,
]


@click.command(cls=VerdictCommand, params=_PARAMS, short_help="Try rules on objects, in all pairs of versions.")
def test(files: tuple[str, ...], crds: str | None, objects: str | None, output: tuple[str, ...], **flags: Any) -> int:
    """Try the rules of the Conversion objects in files and folders on objects, in all pairs of versions.

    Objects are generated from the schemas (needs hypothesis: pip install 'apiext[test]'), and read from --objects. Each goes to the other
    version and back, unchanged and with a changed field in between. A counterexample is the smallest one found, with a diff. Objects that
    are valid in one version and invalid in the other are warnings with an example. Exit codes: 0 nothing is lost that is not declared,
    1 with warnings (--fail-on=warning), 2 there is a counterexample, 3 the rules are invalid, no valid objects were found, or the test
    could not run.
    """
    from apiext.tools.releases.interface import SourceError

    outputs = parse_outputs(output, _FORMATS)
    seed = random.SystemRandom().randrange(2**32) if flags["seed"] is None else flags["seed"]
    if flags["examples"]:
        _require_hypothesis()
    try:
        given = run_interruptible(_given(files, crds, objects, seed, flags))
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    found = _with_generated(given, flags["examples"], seed)
    for each in outputs:
        write_output(_text(found, each.format, seed), each)
    if any(trial.broken is not None for trial in found):
        return _BROKEN
    if flags["examples"] and not all(trial.counts.objects for trial in found):
        return FAILURE
    return WARNED if flags["fail_on"] == "warning" and any(trial.invalid for trial in found) else 0


def _require_hypothesis() -> None:
    """Load hypothesis, which would write its files into the current folder."""
    if _STORAGE not in os.environ:
        context = click.get_current_context()
        os.environ[_STORAGE] = context.with_resource(tempfile.TemporaryDirectory(prefix="apiext-"))
        context.call_on_close(partial(os.environ.pop, _STORAGE, None))
    try:
        import hypothesis  # noqa: F401
    except ImportError as error:
        raise click.ClickException(
            "generated objects need the package hypothesis: pip install 'apiext[test]'; --examples=0 tries those of --objects alone"
        ) from error


async def _given(
    files: Sequence[str], crds: str | None, objects: str | None, seed: int, flags: Mapping[str, Any]
) -> list[tuple[TriedRules, list[PairTrial]]]:
    """Return all rules with the trials of their pairs of versions on the objects of a place."""
    from apiext.resources.authoring.trials import pairs_of, try_given
    from apiext.resources.authoring.tried_rules import TriedRules
    from apiext.tools.conversion_files import check_files
    from apiext.tools.places import open_source

    access = access_of(flags)
    async with AsyncExitStack() as stack:
        checked = await check_files(files, crds, access)
        _require_valid(checked)
        valid = [TriedRules(each.found.rules, each.definition) for each in checked if each.found.rules and each.definition]
        found = [(rules, [*pairs_of(rules)]) for rules in valid]
        if objects:
            source = await open_source(objects, access)
            stack.push_async_callback(source.close)
            for rules, trials in found:
                given = (found.object async for page in source.pages(rules.definition) for found in page)
                await try_given(rules, given, trials, seed)
        return found


def _with_generated(given: Sequence[tuple[TriedRules, Sequence[PairTrial]]], examples: int, seed: int) -> list[PairTrial]:
    """Try generated objects, too, where no given one is a counterexample. Return all trials."""
    from apiext.resources.authoring.trials import try_pair

    for rules, trials in given:
        for trial in trials:
            if examples and trial.broken is None:
                try_pair(rules, trial, examples=examples, seed=seed)
    return [trial for _, trials in given for trial in trials]


def _require_valid(checked: Sequence[CheckedConversion]) -> None:
    invalid = [each for each in checked if not each.found.report.is_valid]
    if invalid:
        raise click.ClickException("\n".join(text_of(invalid)))


def _text(found: Sequence[PairTrial], kind: str, seed: int) -> str:
    if kind == "json":
        return json_text({"seed": seed, "pairs": [trial.as_document() for trial in found]})
    from apiext.resources.authoring.trials import trial_lines

    lines = [*(line for trial in found for line in trial_lines(trial)), f"seed {seed}: --seed={seed} repeats this run"]
    return "".join(f"{printable(line)}\n" for line in lines)
