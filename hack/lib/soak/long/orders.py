"""Judges lists and watches against the order of revisions.

All events that any watch showed, and all acknowledged writes, make one order. A list shows exactly the state after its revision,
a watch every event of the order since its first list.
"""

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hack.lib.soak.long.collection import MOVING, State
from hack.lib.soak.long.lister import Listed

Events = Mapping[int, tuple[str, State | None]]
"""Name and state by revision; no state is a deletion."""
_SHOWN: Final = 5
"""Maximum of reported problems of one kind."""


class Order:
    """The one order of all events; `problems` has revisions of which two watches showed different events."""

    def __init__(self, watches: Iterable[Events]) -> None:
        self.problems: list[str] = []
        events: dict[int, tuple[str, State | None]] = {}
        for watch in watches:
            for revision, event in watch.items():
                if events.setdefault(revision, event) != event:
                    self.problems.append(f"revision {revision} is {event} and {events[revision]}")
        self._events = sorted(events.items())
        self.revisions = [revision for revision, _ in self._events]

    def lists(self, listed: Sequence[Listed], resident: int) -> list[str]:
        """Return what is wrong with lists; `resident` is the number of objects that never change."""
        problems, objects, done = [], dict[str, tuple[int, State]](), 0
        moving = [(revision, event) for revision, event in self._events if event[0].startswith(MOVING)]
        revisions = [revision for revision, _ in moving]
        for one in sorted(listed, key=lambda each: each.revision):
            for revision, (name, state) in moving[done : (end := bisect.bisect_right(revisions, one.revision))]:
                if state is None:
                    objects.pop(name, None)
                else:
                    objects[name] = (revision, state)
            done = max(done, end)
            if one.objects != objects:
                wrong = sorted(one.objects.items() ^ objects.items())[:_SHOWN]
                problems.append(f"a list of revision {one.revision} differs from the events in {wrong}")
            if one.total - len(one.objects) != resident:
                problems.append(f"a list of revision {one.revision} shows {one.total - len(one.objects)} of {resident} resident objects")
        return problems[:_SHOWN]

    def acknowledged(self, writes: Iterable[tuple[int, int, str]]) -> list[str]:
        """Return the acknowledged writes, of which `writes` has time, revision and name, that no event shows."""
        known = {revision: name for revision, (name, _) in self._events}
        lost = [f"no watch showed revision {revision} of {name}" for _, revision, name in writes if known.get(revision) != name]
        return lost[:_SHOWN]


def stale(listed: Iterable[Listed], writes: Sequence[tuple[int, int, str]]) -> list[str]:
    """Return the fresh lists that are older than a write that was acknowledged before they were asked for."""
    ordered = sorted(writes)
    times = [time for time, _, _ in ordered]
    highest, newest = 0, []
    for _, revision, _ in ordered:
        highest = max(highest, revision)
        newest.append(highest)
    problems = []
    for one in listed:
        before = bisect.bisect_left(times, one.call)
        if one.fresh and before and one.revision < newest[before - 1]:
            problems.append(f"a list shows revision {one.revision}, but {newest[before - 1]} was acknowledged before")
    return problems[:_SHOWN]
