"""Catalog of definitions."""

from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.definition import Definition
from tests.support.builders.crds import definition, stored_crd


def _served(plural: str = "widgets", revision: int = 1) -> Definition:
    return definition(stored_crd(plural), revision=revision)


def _new(plural: str = "widgets", revision: int = 1) -> Definition:
    return definition(stored_crd(plural, conditions={"Established": "False", "NamesAccepted": "False"}), revision=revision)


def test_looks_up_served_definitions() -> None:
    """Look up by resource only definitions that are established or have accepted names; look up all by name."""
    catalog = Catalog()
    catalog.put(_new())
    before = catalog.lookup("example.com", "widgets")
    established = _served(revision=2)
    catalog.put(established)

    assert before is None
    assert catalog.lookup("example.com", "widgets") is established
    assert catalog.get("widgets.example.com") is established
    assert catalog.lookup("example.com", "gadgets") is None


def test_ignores_older_states() -> None:
    """Ignore an update or a removal that is older than the known state."""
    catalog, newest = Catalog(), _served(revision=5)

    assert catalog.put(newest)
    assert not catalog.put(_served(revision=4))
    assert not catalog.put(_served(revision=5))
    assert not catalog.remove("widgets.example.com", 4)
    assert catalog.lookup("example.com", "widgets") is newest


def test_does_not_restore_removed_definitions() -> None:
    """Ignore an old state of a removed definition; accept a new definition with its name."""
    catalog = Catalog()
    catalog.put(_served(revision=1))

    assert catalog.remove("widgets.example.com", 3)
    assert not catalog.put(_served(revision=2))
    assert catalog.lookup("example.com", "widgets") is None
    assert catalog.put(_served(revision=4))


def test_replaces_all_definitions_by_a_list() -> None:
    """Remove definitions missing in a list, add those in it, and advance to its revision."""
    catalog = Catalog()
    catalog.put(_served("widgets", 1))
    catalog.put(_served("gadgets", 2))

    catalog.replace([_served("gadgets", 2), _served("gizmos", 3)], 4)

    assert [each.name for each in catalog.all()] == ["gadgets.example.com", "gizmos.example.com"]
    assert catalog.revision == 4


def test_notifies_listeners_until_they_unsubscribe() -> None:
    """Pass the old and the new state of each change to listeners, and nothing after they unsubscribe."""
    catalog, heard = Catalog(), []
    unsubscribe = catalog.subscribe(lambda old, new: heard.append((old and old.revision, new and new.revision)))

    catalog.put(_served(revision=1))
    catalog.put(_served(revision=2))
    catalog.remove("widgets.example.com", 3)
    unsubscribe()
    catalog.put(_served(revision=4))

    assert heard == [(None, 1), (1, 2), (2, None)]


def test_notifies_listeners_in_the_order_of_subscription() -> None:
    """Notify listeners in the order of their subscription, on which the serving cache relies as the first one."""
    catalog = Catalog()
    calls: list[str] = []
    catalog.subscribe(lambda _old, _new: calls.append("cache"))
    catalog.subscribe(lambda _old, _new: calls.append("controllers"))
    catalog.put(_served())

    assert calls == ["cache", "controllers"]


def test_failing_listener_does_not_affect_others() -> None:
    """Notify the other listeners when one raises, and do not raise to the writer."""
    catalog, heard = Catalog(), []

    def fail(_old: Definition | None, _new: Definition | None) -> None:
        raise ZeroDivisionError

    catalog.subscribe(fail)
    catalog.subscribe(lambda _old, new: heard.append(new))

    assert catalog.put(_served())
    assert len(heard) == 1


def test_generation_changes_with_definitions() -> None:
    """Increase the generation with each change only; return the same tuple of all definitions until a change."""
    catalog = Catalog()
    catalog.put(_served(revision=1))
    generation, everything = catalog.generation, catalog.all()

    catalog.put(_served(revision=1))
    catalog.advance(9)

    assert catalog.generation == generation
    assert catalog.all() is everything


def test_ignores_late_writes_of_deleted_definitions() -> None:
    """Ignore a written state that is observed after the watch event of the deletion, however late."""
    catalog = Catalog()
    catalog.put(_served(revision=5))
    catalog.remove("widgets.example.com", 7)
    catalog.advance(8)

    assert not catalog.put(_served(revision=6))
    assert catalog.lookup("example.com", "widgets") is None
    assert catalog.put(_served(revision=9))
