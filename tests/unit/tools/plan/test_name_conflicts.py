"""Names that a server does not accept, since another definition of the group has them."""

import asyncio
from typing import Any, Final

from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.definition_creation import create_definition
from apiext.tools.plan.plan import Safety, State
from apiext.tools.plan.planner import name_conflicts
from tests.support.builders.crds import crd
from tests.support.builders.plans import plan_of, release


def _definition(plural: str, kind: str, *short: str, group: str = "example.com") -> Definition:
    names: dict[str, Any] = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    if short:
        names["shortNames"] = list(short)
    return asyncio.run(create_definition(canonical(crd(plural, kind=kind, group=group, names=names))))


def _conflicts(old: list[Definition], new: list[Definition]) -> dict[str, str]:
    return name_conflicts({one.name: one for one in old}, {one.name: one for one in new})


WIDGETS: Final = _definition("widgets", "Widget", "w")


def test_a_new_definition_with_a_name_in_use_is_breaking() -> None:
    """The server accepts the definition, and never serves it."""
    plan = plan_of(release(WIDGETS, origin="old", is_live=True), release(WIDGETS, _definition("wheels", "Wheel", "w")))

    wheels, widgets = plan.definitions
    assert (widgets.state, widgets.verdict) == (State.UNCHANGED, Safety.SAFE)
    assert wheels.verdict is Safety.BREAKING
    assert wheels.breaks == ('kube-apiserver does not accept the names, and the definition is not served: "w" is already in use',)


def test_a_kind_keeps_its_definition() -> None:
    """A resource of another name, as after a renamed plural, cannot have the kind of a definition that stays, unless that is removed."""
    old, new = release(WIDGETS, origin="old", is_live=True), release(_definition("gizmos", "Widget"))

    assert plan_of(old, new).verdict is Safety.BREAKING
    gizmos, widgets = plan_of(old, new, removes=True).definitions
    assert (gizmos.verdict, widgets.state) == (Safety.SAFE, State.REMOVED)


def test_an_update_with_a_name_in_use_keeps_the_former_names() -> None:
    """A definition that is served stays served."""
    wheels = _definition("wheels", "Wheel", "wh")

    assert _conflicts([WIDGETS, wheels], [_definition("wheels", "Wheel", "wh", "w")]) == {
        "wheels.example.com": 'kube-apiserver does not accept the names, and the former names stay: "w" is already in use'
    }


def test_a_name_may_move_to_another_definition() -> None:
    """A name that the release takes from one definition is free, in whatever order the definitions are applied."""
    wheels = _definition("wheels", "Wheel", "wh")

    assert _conflicts([WIDGETS, wheels], [_definition("widgets", "Widget"), _definition("wheels", "Wheel", "w")]) == {}
    assert _conflicts([WIDGETS, wheels], [_definition("widgets", "Widget", "wh"), _definition("wheels", "Wheel")]) == {}


def test_other_groups_do_not_matter() -> None:
    """Names are unique in a group."""
    assert _conflicts([WIDGETS], [_definition("widgets", "Widget", "w", group="other.example.com")]) == {}


def test_a_conflict_from_before_is_not_reported() -> None:
    """A release does no harm that is there already."""
    names = {"plural": "wheels", "singular": "wheel", "kind": "Wheel", "listKind": "WheelList", "shortNames": ["w"]}
    draft = canonical(crd("wheels", kind="Wheel", names=names))
    wheels = asyncio.run(create_definition(draft, [WIDGETS]))

    assert not wheels.names_accepted
    assert _conflicts([WIDGETS, wheels], [WIDGETS, _definition("wheels", "Wheel", "w")]) == {}
