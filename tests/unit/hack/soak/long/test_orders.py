"""Tests that lists and watches are judged by the one order of events."""

from hack.lib.soak.long.collection import State
from hack.lib.soak.long.lister import Listed
from hack.lib.soak.long.orders import Order, stale

_ONE, _TWO = State(1, 0), State(2, 0)
_EVENTS = {3: ("r-1", _ONE), 5: ("r-2", _ONE), 7: ("r-1", _TWO), 8: ("s-1", _TWO), 9: ("r-2", None)}
_RESIDENT = 4


def _listed(
    revision: int, objects: dict[str, tuple[int, State]], *, resident: int = _RESIDENT, call: int = 0, fresh: bool = True
) -> Listed:
    return Listed(call, revision, objects, len(objects) + resident, fresh)


def test_right_lists() -> None:
    """Accept lists of any revision, in any order."""
    lists = [
        _listed(9, {"r-1": (7, _TWO)}),
        _listed(2, {}),
        _listed(6, {"r-1": (3, _ONE), "r-2": (5, _ONE)}),
        _listed(8, {"r-1": (7, _TWO), "r-2": (5, _ONE)}),
    ]

    assert Order([_EVENTS]).lists(lists, _RESIDENT) == []


def test_wrong_lists() -> None:
    """Report an old object, a missing one, one too many, and resident ones that are missing."""
    order = Order([_EVENTS])
    wrong = [
        _listed(7, {"r-1": (3, _ONE), "r-2": (5, _ONE)}),
        _listed(5, {"r-1": (3, _ONE)}),
        _listed(9, {"r-1": (7, _TWO), "r-2": (5, _ONE)}),
        _listed(2, {}, resident=_RESIDENT - 1),
    ]

    assert [len(order.lists([one], _RESIDENT)) for one in wrong] == [1, 1, 1, 1]


def test_two_events_of_one_revision() -> None:
    """Report a revision of which watches show different events."""
    assert Order([_EVENTS, {3: ("r-1", _ONE)}]).problems == []
    assert Order([_EVENTS, {3: ("r-1", _TWO)}]).problems != []


def test_all_revisions() -> None:
    """Know the revisions that any watch showed."""
    assert Order([{3: ("r-1", _ONE)}, {5: ("r-2", _ONE)}]).revisions == [3, 5]


def test_acknowledged_writes() -> None:
    """Report an acknowledged write that no watch showed, or that was one of another object."""
    order = Order([_EVENTS])

    assert order.acknowledged([(0, 3, "r-1"), (0, 5, "r-2")]) == []
    assert len(order.acknowledged([(0, 4, "r-1"), (0, 5, "r-1")])) == 2


def test_stale_lists() -> None:
    """Report a fresh list that is older than what was acknowledged before, whatever the order of the acknowledgements."""
    writes = [(10, 5, "r-2"), (20, 3, "r-1"), (40, 9, "r-2")]

    assert stale([_listed(5, {}, call=30), _listed(3, {}, call=10), _listed(3, {}, call=30, fresh=False)], writes) == []
    assert len(stale([_listed(4, {}, call=30), _listed(8, {}, call=41)], writes)) == 2
