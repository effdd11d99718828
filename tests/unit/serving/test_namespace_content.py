"""The conditions of a namespace that ends, next to those that others have written."""

from apiext.meta.json_codec import Object
from apiext.serving.namespace_content import Content

X: Object = {"type": "X", "status": "True", "lastTransitionTime": None}


def test_conditions_of_others_stay() -> None:
    """All of them, also two of one type, in their places."""
    former = [X, X | {"status": "False"}]

    assert Content().conditions(former)[:2] == former


def test_the_first_of_a_type_counts() -> None:
    """It is brought up to date, the others stay, and its time is that of its last transition, even if there is none."""
    first: Object = {"type": "NamespaceContentRemaining", "status": "False", "lastTransitionTime": None}
    second = first | {"status": "True"}

    conditions = Content().conditions([first, second])

    assert conditions[0] == first | {"reason": "ContentRemoved", "message": "All content successfully removed"}
    assert conditions[1] == second
    assert len(conditions) == 6
    assert Content().conditions(conditions) == conditions
