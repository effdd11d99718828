"""A plan as text."""

import io
from typing import Final

from rich.console import Console

from apiext.tools.plan.plan import ReleasePlan
from apiext.tools.plan.text import PlanText
from tests.support.builders.plans import ListedObjects, created, custom, plan_of, shaped

OLD: Final = created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True), stored=["v1", "v2"])
DROP: Final = plan_of(OLD, created(shaped("v2", "a", storage=True)), ListedObjects(custom("w", "v2", a="x")))
SHORT: Final = """\
SAFE IN THIS ORDER  new replaces old, objects of a list

widgets.example.com  safe in this order
  refused without the steps
    - status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in \
spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions
  do
    1. Store all objects in v2: v1 goes away
    2. Remove v1 from status.storedVersions: kube-apiserver refuses to drop v1 before
    3. Apply the new definition of widgets.example.com
  changes: 1 error, 1 note
  objects: 1 object, 1 unchanged
  stored: 1 in v2; storedVersions v1, v2 -> v2 (estimated: --stored counts exactly)
  rollback: possible: apply the old definition again
-v shows all changes, commands and numbers; --steps prints the steps as a shell script
"""


def _written(plan: ReleasePlan, *, details: bool = False) -> str:
    console = Console(file=io.StringIO(), highlight=False, soft_wrap=True, emoji=False, markup=False, width=160)
    PlanText(console, details=details).write(plan)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_is_short() -> None:
    """Begin with the verdict, then say what to do, then give numbers."""
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

    assert "    ... and 4 more\n" in _written(plan)
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
    assert _written(plan_of(OLD, OLD)).splitlines()[:2] == ["SAFE  new replaces old", "1 definition unchanged"]
