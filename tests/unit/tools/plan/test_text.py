"""A plan as text."""

import io
from typing import Final

from rich.console import Console

from apiext.tools.plan.plan import ReleasePlan
from apiext.tools.plan.text import PlanText
from apiext.tools.releases.interface import Release
from tests.support.builders.crds import version
from tests.support.builders.plans import ListedObjects, created, custom, plan_of, release, schema, shaped

OLD: Final = created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True), stored=["v1", "v2"])
KINDS: Final = (("widgets", "Widget"), ("gadgets", "Gadget"))
DROP: Final = plan_of(OLD, created(shaped("v2", "a", storage=True)), ListedObjects(custom("w", "v2", a="x")))
SHORT: Final = """\
SAFE IN THIS ORDER: 1 CRD. 1 object as it is.
new replaces old, objects of a list

widgets.example.com: safe in this order; 1 error, 1 note; 1 object as it is; rollback possible [1 in v2; storedVersions v1, v2 -> v2]
  - refused without the steps: status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage \
version, and must remain in sp...
do
  1. Store all objects in v2: the new definition does not have v1, so no object may be stored in it
  2. Remove v1 from status.storedVersions: kube-apiserver accepts a definition without v1 only then
  3. Apply the new definition of widgets.example.com
stored versions are estimated: --stored counts exactly
-v shows everything; --steps prints the steps as a shell script, -o html writes a page
"""


def _written(plan: ReleasePlan, *, details: bool = False) -> str:
    console = Console(file=io.StringIO(), highlight=False, soft_wrap=True, emoji=False, markup=False, width=160)
    PlanText(console, details=details).write(plan)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_is_short() -> None:
    """Begin with the summary, then say what there is to know, then what to do."""
    assert _written(DROP) == SHORT


def test_details() -> None:
    """Show changes, commands, checks and versions on request."""
    text = _written(DROP, details=True)

    assert "       $ kubectl get widgets.v2.example.com -A -o json | kubectl replace -f -\n" in text
    assert "       done when status.storedVersions is v2; storedVersions: v2\n" in text
    assert "    note     unservedVersionRemoved" in text
    assert "    v1: not served; can be dropped: this release drops it\n" in text
    assert text.endswith("FILE is the manifest of the step: --steps-dir writes it\n")


def test_long_lists_are_cut() -> None:
    """Show the first lines of a long list."""
    fields = [f"f{number}" for number in range(9)]
    plan = plan_of(created(shaped("v1", *fields, storage=True)), created(shaped("v1", storage=True)))

    assert "  ... and 4 more\n" in _written(plan)
    assert "... and" not in _written(plan, details=True)


def test_unprintable_texts_do_not_reach_the_terminal() -> None:
    """Replace control characters of keys."""
    plan = plan_of(
        created(shaped("v1", "a", "b", storage=True)), created(shaped("v1", "a", storage=True)), ListedObjects(custom("w\x1b[2J", b="x"))
    )

    assert "\x1b" not in _written(plan, details=True)
    assert "w\ufffd[2J" in _written(plan, details=True)


def test_nothing_to_do() -> None:
    """Say in one line what does not change."""
    lines = _written(plan_of(OLD, OLD)).splitlines()

    assert lines[:3] == ["SAFE: nothing changes.", "new replaces old", "1 definition unchanged"]


def _several(number: int, *, old: tuple[str, ...], new: tuple[str, ...], versions: int = 1) -> ReleasePlan:
    """Return the plan for several definitions that lose the same fields in the same versions."""

    def made(fields: tuple[str, ...], origin: str) -> Release:
        shapes = [shaped(f"v{place}", *fields, storage=place == 1) for place in range(1, versions + 1)]
        return release(*(created(*shapes, plural=f"things{place}", kind=f"Thing{place}") for place in range(number)), origin=origin)

    return plan_of(made(old, "old"), made(new, "new"))


def test_five_definitions_fit_a_screen() -> None:
    """Write at most 40 lines for five definitions that all break in many fields, and everything with details."""
    plan = _several(5, old=tuple("abcdefghijk"), new=("a",), versions=3)

    assert len(_written(plan).splitlines()) <= 40
    assert _written(plan, details=True).count("was removed") > 5 * 30


def test_shared_steps_are_written_once() -> None:
    """Write steps that several definitions share once, with the names of the definitions."""
    old = release(*(created(shaped("v1", "a", storage=True), plural=plural, kind=kind) for plural, kind in KINDS), origin="old")
    new = release(*(created(shaped("v1", "a"), shaped("v2", "a", storage=True), plural=plural, kind=kind) for plural, kind in KINDS))
    text = _written(plan_of(old, new))

    assert "do for gadgets and widgets of example.com\n  1. Apply the new definition of each\n" in text
    assert text.count("a later release can then drop v1") == 2


def test_the_summary_counts_objects() -> None:
    """Say what happens to how many objects, the worst first."""
    old = created(shaped("v1", "a", "type", storage=True))
    new = created(version("v1", storage=True, schema=schema("a") | {"required": ["spec"]}))
    objects = [custom(f"w{number}", a="x") for number in range(6)] + [custom("typed", a="x", type="y"), custom("bare")]
    del objects[-1]["spec"]
    text = _written(plan_of(old, new, ListedObjects(*objects)))

    assert text.startswith("BREAKING: 1 CRD. 8 objects: 6 as they are, 1 loses spec.type, 1 can no longer be updated.\n")
