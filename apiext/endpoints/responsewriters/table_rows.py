"""Rows of tables that are kept with their objects, so that a table is joined rather than made."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from apiext.endpoints.responsewriters.human_duration import age
from apiext.endpoints.responsewriters.partial_metadata import partial_head
from apiext.meta import json_codec

METADATA: Final = "Metadata"
NOTHING: Final = "None"
OBJECT: Final = "Object"


class Moment:
    """The time at which a table is made, and the ages that have been worked out for it."""

    __slots__ = ("_ages", "now")

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._ages: dict[str, bytes] = {}

    def age(self, time: str) -> bytes:
        """The age since a time as JSON."""
        text = self._ages.get(time)
        if text is None:
            text = self._ages[time] = json_codec.dumps(age(time, self.now))
        return text


class KeptRow:
    """A row but for its ages: the JSON around them, the times they count from, and where in the object its metadata is.

    `owner` is the convertor that made it; another one's row is of no use.
    """

    __slots__ = ("_fixed", "_metadata", "_times", "owner")

    def __init__(self, *, owner: object, fixed: tuple[bytes, ...], times: tuple[str, ...], metadata: slice) -> None:
        self.owner = owner
        self._fixed = (b'{"cells":[' + fixed[0], *fixed[1:-1], fixed[-1] + b'],"object":') if times else (_whole(fixed[0]),)
        self._times = times
        self._metadata = metadata

    def row(self, data: bytes, shown: Shown, moment: Moment) -> bytes:
        """The row; `data` is the object's JSON."""
        fixed, times = self._fixed, self._times
        if len(times) == 1:
            # nearly every table has just the one column of ages, and a table has thousands of rows
            cells = fixed[0] + moment.age(times[0]) + fixed[1]
        else:
            cells = fixed[0] + b"".join([part for time, after in zip(times, fixed[1:], strict=True) for part in (moment.age(time), after)])
        if shown.include == NOTHING:
            return cells + b"null}"
        if shown.include == OBJECT:
            return b"%b%b}" % (cells, data)
        return b"%b%b%b}}" % (cells, shown.head, data[self._metadata])


def _whole(cells: bytes) -> bytes:
    return b'{"cells":[%b],"object":' % cells


class Shown:
    """What rows show of their objects: Object, Metadata or None; and what stands before the metadata."""

    __slots__ = ("head", "include")

    def __init__(self, include: str, version: str) -> None:
        self.include = include
        self.head = partial_head(version)
