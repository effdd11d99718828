"""The local copy of the watched objects."""

from typing import Any

from apiext.base.meta import host_annotations
from apiext.operator.watched_state import ObjectCache, WatchedState
from tests.unit.operator.parts import SELECTOR, TARGET, api_service, crd, own, registered


def _at(revision: int, **more: Any) -> dict[str, Any]:
    return crd(resourceVersion=str(revision), **more)


def _cache() -> tuple[ObjectCache, list[str]]:
    changed: list[str] = []
    return ObjectCache(changed.append), changed


def test_keeps_the_newest_state() -> None:
    """Ignore an older state and a repeated one, and report neither as a change."""
    cache, changed = _cache()
    cache.update(_at(5, annotations={"a": "5"}))
    cache.update(_at(4))
    cache.update(_at(5, annotations={"a": "5"}))

    assert [found["metadata"]["annotations"] for found in cache.all()] == [{"a": "5"}]
    assert changed == ["example.com"]


def test_ignores_late_events_after_a_deletion() -> None:
    """Ignore an old state of a deleted object, and a late deletion of an object that was created again."""
    cache, changed = _cache()
    cache.update(_at(5))
    cache.delete(_at(6))
    cache.update(_at(5))
    assert not cache.all()

    cache.update(_at(9))
    cache.delete(_at(6))
    assert len(cache.all()) == 1
    assert changed == ["example.com"] * 3


def test_replaces_all_objects_by_a_list() -> None:
    """Remove the objects that a complete list lacks, and report only the groups of objects that differ."""
    cache, changed = _cache()
    cache.update(_at(5, plural="as"))
    cache.update(_at(8, plural="bs", group="other.com"))
    cache.replace([_at(7, plural="cs"), _at(8, plural="bs", group="other.com")])

    assert {found["metadata"]["name"] for found in cache.all()} == {"bs.other.com", "cs.example.com"}
    assert cache.of("example.com").keys() == {"cs.example.com"}
    assert changed == ["example.com", "other.com", "example.com", "example.com"]


def test_accepts_lower_revisions_from_a_list() -> None:
    """Accept a complete list with lower revisions, as a server lists after its store was restored."""
    cache, _ = _cache()
    cache.update(_at(50))
    assert cache.newest == 50
    cache.replace([_at(3, annotations={"new": "x"})])

    assert [found["metadata"]["resourceVersion"] for found in cache.all()] == ["3"]
    assert cache.newest == 3


def test_moves_an_object_to_another_group() -> None:
    """Report both groups when an object of the same name belongs to another group."""
    cache, changed = _cache()
    cache.update(crd(name="x", resourceVersion="1"))
    cache.update(crd(name="x", group="other.com", resourceVersion="2"))

    assert not cache.of("example.com")
    assert cache.of("other.com").keys() == {"x"}
    assert changed == ["example.com", "example.com", "other.com"]


def test_lists_the_groups_to_reconcile() -> None:
    """Return the groups of selected definitions, definitions of apiext, its APIServices and its policies, but none of the host alone."""
    state = WatchedState(SELECTOR, lambda _: None)
    state.crds.update(crd(group="selected.com"))
    state.crds.update(crd(group="plain.com", selected=False))
    state.crds.update(crd(group="held.com", selected=False, finalizers=[host_annotations.INSTANCES_FINALIZER]))
    state.definitions.update(own(group="own.com"))
    state.api_services.update(api_service(group="local.com"))
    state.api_services.update(registered())
    state.guarded = {"guarded.com"}

    assert state.groups(TARGET) == {"selected.com", "held.com", "own.com", "example.com", "guarded.com"}
    for name in ("selected.com", "held.com", "plain.com", "own.com", "local.com", "example.com", "guarded.com"):
        assert state.concerns(name, TARGET) == (name in state.groups(TARGET))
    group = state.group("selected.com")
    assert (list(group.selected), list(group.unselected), group.guarded) == (["widgets.selected.com"], [], False)


def test_forgets_apiext_between_sessions() -> None:
    """Forget definitions and policies of apiext at the start of a session, and keep the objects of the host."""
    state = WatchedState(SELECTOR, lambda _: None)
    state.crds.update(crd(group="selected.com"))
    state.definitions.update(own(group="own.com"))
    state.known, state.guarded = True, {"guarded.com"}
    state.reset_session()

    assert (state.groups(TARGET), state.known) == ({"selected.com"}, False)
