"""The catalogue of definitions."""

import asyncio

from apiext.definitions.catalog import Catalog
from apiext.definitions.definition import Definition
from tests.support.builders.crds import crd, definition


def _served(plural: str = "widgets", revision: int = 1) -> Definition:
    return definition(crd(plural), revision=revision)


def _new(plural: str = "widgets", revision: int = 1) -> Definition:
    return definition(crd(plural, conditions={"Established": "False", "NamesAccepted": "False"}), revision=revision)


def test_a_definition_is_found_once_it_is_served() -> None:
    """Lookups by group and resource give what is established or has its names; by name, everything."""
    catalog = Catalog()
    catalog.put(_new())
    before = catalog.lookup("example.com", "widgets")
    established = _served(revision=2)
    catalog.put(established)

    assert before is None
    assert catalog.lookup("example.com", "widgets") is established
    assert catalog.get("widgets.example.com") is established
    assert catalog.lookup("example.com", "gadgets") is None


def test_an_older_state_is_not_taken() -> None:
    """What arrives late changes nothing, neither as a change nor as a removal."""
    catalog, newest = Catalog(), _served(revision=5)

    assert catalog.put(newest)
    assert not catalog.put(_served(revision=4))
    assert not catalog.put(_served(revision=5))
    assert not catalog.remove("widgets.example.com", 4)
    assert catalog.lookup("example.com", "widgets") is newest


def test_a_removed_definition_stays_away() -> None:
    """A late state of a definition that was removed does not bring it back; a new one of its name does."""
    catalog = Catalog()
    catalog.put(_served(revision=1))

    assert catalog.remove("widgets.example.com", 3)
    assert not catalog.put(_served(revision=2))
    assert catalog.lookup("example.com", "widgets") is None
    assert catalog.put(_served(revision=4))


def test_a_list_replaces_everything() -> None:
    """What a list does not have is gone, what it has is there, and its revision is reached."""
    catalog = Catalog()
    catalog.put(_served("widgets", 1))
    catalog.put(_served("gadgets", 2))

    catalog.replace([_served("gadgets", 2), _served("gizmos", 3)], 4)

    assert [each.name for each in catalog.all()] == ["gadgets.example.com", "gizmos.example.com"]
    assert catalog.revision == 4


def test_listeners_hear_of_every_change_until_they_unsubscribe() -> None:
    """A listener gets the old and the new state, and nothing after it has unsubscribed."""
    catalog, heard = Catalog(), []
    unsubscribe = catalog.subscribe(lambda old, new: heard.append((old and old.revision, new and new.revision)))

    catalog.put(_served(revision=1))
    catalog.put(_served(revision=2))
    catalog.remove("widgets.example.com", 3)
    unsubscribe()
    catalog.put(_served(revision=4))

    assert heard == [(None, 1), (1, 2), (2, None)]


def test_a_failing_listener_harms_nobody() -> None:
    """The others hear of the change, and whoever made it notices nothing."""
    catalog, heard = Catalog(), []

    def fail(_old: Definition | None, _new: Definition | None) -> None:
        raise ZeroDivisionError

    catalog.subscribe(fail)
    catalog.subscribe(lambda _old, new: heard.append(new))

    assert catalog.put(_served())
    assert len(heard) == 1


def test_the_generation_grows_with_changes_only() -> None:
    """Whoever renders from the catalogue can tell by a number whether it has changed; so can they by the tuple of all."""
    catalog = Catalog()
    catalog.put(_served(revision=1))
    generation, everything = catalog.generation, catalog.all()

    catalog.put(_served(revision=1))
    catalog.advance(9)

    assert catalog.generation == generation
    assert catalog.all() is everything


async def test_waiting_for_a_revision() -> None:
    """A waiter goes on when its revision is reached, at once if it was, and is told when it is not in time."""
    catalog = Catalog()
    waiter = asyncio.create_task(catalog.wait_for(5, 10))
    await asyncio.sleep(0)
    catalog.advance(4)
    await asyncio.sleep(0)
    early = waiter.done()
    catalog.advance(5)

    assert not early
    assert await waiter
    assert await catalog.wait_for(3, 0)
    assert not await catalog.wait_for(6, 0)


def test_what_is_told_late_of_a_deleted_definition_is_not_taken() -> None:
    """Whoever wrote a state and tells of it after the watch has told of the removal brings nothing back, however late."""
    catalog = Catalog()
    catalog.put(_served(revision=5))
    catalog.remove("widgets.example.com", 7)
    catalog.advance(8)

    assert not catalog.put(_served(revision=6))
    assert catalog.lookup("example.com", "widgets") is None
    assert catalog.put(_served(revision=9))
