"""The order of objects with owners."""

from apiext.storage.backups.stored_pairs import rounds_after_owners
from tests.unit.api.garbagecollector.kinds import owner, thing


def test_owners_come_first() -> None:
    """Order dependents after their owners; owners elsewhere do not count."""
    pairs = [
        ("c", thing("c", owner("b"), owner("a"))),
        ("b", thing("b", owner("a"))),
        ("a", thing("a")),
        ("d", thing("d", owner("elsewhere"))),
        ("bad", b"ownerReferences"),
    ]

    assert rounds_after_owners(pairs) == [{"b", "d"}, {"c"}]


def test_circles_come_last() -> None:
    """End with objects that own each other, and with what long chains have left."""
    circle = [("a", thing("a", owner("b"))), ("b", thing("b", owner("a"))), ("c", thing("c", owner("c")))]
    chain = [(str(number), thing(str(number), owner(str(number + 1)))) for number in range(20)]

    assert rounds_after_owners(circle) == [{"a", "b", "c"}]
    assert [len(keys) for keys in rounds_after_owners(chain)] == [1] * 9 + [11]
