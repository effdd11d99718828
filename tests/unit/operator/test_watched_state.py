"""What is known, in whatever order it is told."""

from typing import Any

from apiext.meta import host_annotations
from apiext.operator.watched_state import Collection, Watched
from tests.unit.operator.parts import SELECTOR, TARGET, api_service, crd, own, registered


def _at(revision: int, **more: Any) -> dict[str, Any]:
    return crd(resourceVersion=str(revision), **more)


def _collection() -> tuple[Collection, list[str]]:
    told: list[str] = []
    return Collection(told.append), told


def test_the_latest_state_holds() -> None:
    """An older state, or the same again, changes nothing and is not told."""
    collection, told = _collection()
    collection.changed(_at(5, annotations={"a": "5"}))
    collection.changed(_at(4))
    collection.changed(_at(5, annotations={"a": "5"}))

    assert [found["metadata"]["annotations"] for found in collection.all()] == [{"a": "5"}]
    assert told == ["example.com"]


def test_deletions() -> None:
    """What has gone does not come back with an old state; what is deleted late is not what was made anew."""
    collection, told = _collection()
    collection.changed(_at(5))
    collection.deleted(_at(6))
    collection.changed(_at(5))
    assert not list(collection.all())

    collection.changed(_at(9))
    collection.deleted(_at(6))
    assert len(list(collection.all())) == 1
    assert told == ["example.com"] * 3


def test_lists() -> None:
    """A list takes away what it does not have, unless that was told later than the list is."""
    collection, told = _collection()
    collection.changed(_at(5, plural="as"))
    collection.changed(_at(20, plural="bs"))
    collection.listed([_at(7, plural="cs"), _at(8, plural="bs")], 10)

    assert {found["metadata"]["name"]: found["metadata"]["resourceVersion"] for found in collection.all()} == {
        "bs.example.com": "20",
        "cs.example.com": "7",
    }
    assert collection.of("example.com").keys() == {"bs.example.com", "cs.example.com"}
    assert len(told) == 4


def test_a_list_that_is_late() -> None:
    """What has gone since the list was made does not come back with it."""
    collection, _ = _collection()
    collection.changed(_at(5))
    collection.deleted(_at(20))
    collection.listed([_at(5)], 10)

    assert list(collection.all()) == []


def test_a_server_that_was_restored() -> None:
    """Where revisions begin anew a full list is believed."""
    collection, _ = _collection()
    collection.changed(_at(50))
    assert collection.newest == 50
    collection.replaced([_at(3, annotations={"new": "x"})])

    assert [found["metadata"]["resourceVersion"] for found in collection.all()] == ["3"]


def test_groups_of_interest() -> None:
    """Selected definitions, what apiext has, its APIServices and its policies; not what is the host's alone."""
    watched = Watched(SELECTOR, lambda _: None)
    watched.crds.changed(crd(group="selected.com"))
    watched.crds.changed(crd(group="plain.com", selected=False))
    watched.crds.changed(crd(group="held.com", selected=False, finalizers=[host_annotations.INSTANCES_FINALIZER]))
    watched.definitions.changed(own(group="own.com"))
    watched.api_services.changed(api_service(group="local.com"))
    watched.api_services.changed(registered())
    watched.guarded = {"guarded.com"}

    assert watched.groups(TARGET) == {"selected.com", "held.com", "own.com", "example.com", "guarded.com"}
    for name in ("selected.com", "held.com", "plain.com", "own.com", "local.com", "example.com", "guarded.com"):
        assert watched.concerns(name, TARGET) == (name in watched.groups(TARGET))
    group = watched.group("selected.com")
    assert (list(group.selected), list(group.unselected), group.guarded) == (["widgets.selected.com"], [], False)
