"""Rules by which servers convert already."""

from typing import Any

import pytest

from apiext.resources.conversion.known import KnownConversions, Origin
from apiext.resources.conversion.rules_in_use import was_in_use

USED = {"type": "InUse", "status": "True", "observedGeneration": 2}
STATUSES: dict[str, tuple[Any, bool]] = {
    "used": ({"conditions": [{"type": "Valid"}, USED]}, True),
    "of another generation": ({"conditions": [USED | {"observedGeneration": 1}]}, False),
    "not used": ({"conditions": [USED | {"status": "False"}]}, False),
    "no conditions": ({}, False),
    "malformed": ({"conditions": [1, {"type": []}]}, False),
    "no object": ("used", False),
    "none": (None, False),
}


def _conversion(status: Any = None) -> dict[str, Any]:
    return {"metadata": {"name": "widgets.example.com", "generation": 2}, "spec": {"hub": "v2"}, "status": status}


@pytest.mark.parametrize("status, expected", STATUSES.values(), ids=STATUSES)
def test_statuses(status: Any, expected: bool) -> None:  # noqa: FBT001 -- pytest's parameter
    """Believe the status of an object for its present generation, and not that of a file."""
    known = KnownConversions()
    found = []
    for origin in Origin:
        known.put(origin, _conversion(status))
        rules = known.of("widgets.example.com")
        assert rules is not None
        found.append(known.is_in_use(rules))

    assert was_in_use(_conversion(status)) is expected
    assert found == [expected, False]


def test_a_status_that_comes_later() -> None:
    """Report refused rules when the status of their object says that they are in use, once."""
    known, changes = KnownConversions(), list[str | None]()
    known.put(Origin.OBJECT, _conversion())
    known.subscribe(changes.append)
    rules = known.of("widgets.example.com")
    assert rules is not None
    known.in_use.refuse(rules)
    for _ in range(2):
        known.put(Origin.OBJECT, _conversion(STATUSES["used"][0]))

    assert changes == ["widgets.example.com"]
    assert known.in_use.has(rules)
