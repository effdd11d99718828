"""The greatest number of managers of updates."""

from apiext.resources.managedfields.field_manager import cap_update_managers
from apiext.resources.managedfields.managers import APPLY, UPDATE, Manager, Managers, Times, VersionedSet


def _managers(count: int, operation: str = UPDATE) -> tuple[Managers, Times]:
    managers, times = {}, {}
    for number in range(count):
        manager = Manager.of(f"m{number:02}", operation, f"v{number % 2}")
        managers[manager] = VersionedSet({f"f:{number}": {}}, f"v{number % 2}", operation == APPLY)
        times[manager] = f"2020-01-01T00:00:{number:02}Z"
    return managers, times


def test_keeps_ten() -> None:
    """Keep ten managers of updates, and any number that apply."""
    assert cap_update_managers(*_managers(10)) == _managers(10)
    assert cap_update_managers(*_managers(20, APPLY)) == _managers(20, APPLY)


def test_merges_the_oldest() -> None:
    """Merge the oldest managers of each version until ten are left, with the time of the last of them."""
    before, known = _managers(13)
    managers, times = cap_update_managers(before, known)
    first, second = Manager.of("ancient-changes", UPDATE, "v0"), Manager.of("ancient-changes", UPDATE, "v1")

    assert len(managers) == 10
    assert managers[first].fields == {"f:0": {}, "f:2": {}, "f:4": {}}
    assert managers[second].fields == {"f:1": {}, "f:3": {}}
    assert (times[first], times[second]) == ("2020-01-01T00:00:04Z", "2020-01-01T00:00:03Z")
    assert (before, known) == _managers(13)
