"""Conditions of a terminating namespace besides those of other writers."""

from apiext.api.serving.namespace_controller import NamespaceContent
from apiext.base.meta.encoding.json_codec import Object

X: Object = {"type": "X", "status": "True", "lastTransitionTime": None}


def test_keeps_other_conditions() -> None:
    """Keep other conditions in their places, also two of one type."""
    former = [X, X | {"status": "False"}]

    assert NamespaceContent().conditions(former)[:2] == former


def test_updates_the_first_condition_of_a_type() -> None:
    """Update the first condition of a type, keep the others, and keep its transition time, even a missing one."""
    first: Object = {"type": "NamespaceContentRemaining", "status": "False", "lastTransitionTime": None}
    second = first | {"status": "True"}

    conditions = NamespaceContent().conditions([first, second])

    assert conditions[0] == first | {"reason": "ContentRemoved", "message": "All content successfully removed"}
    assert conditions[1] == second
    assert len(conditions) == 6
    assert NamespaceContent().conditions(conditions) == conditions
