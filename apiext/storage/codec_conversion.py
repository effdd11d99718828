"""The asynchronous part of a codec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.scheduling.call_log import CallLog


class Conversion(Protocol):
    """A codec's asynchronous conversion between stored objects and the codec's version."""

    async def from_storage(self, objects: Sequence[Object], log: CallLog | None = None) -> Sequence[Object | ValueError]:
        """Return decoded objects in the codec's version, in the same order; in the place of one that fails stands its error.

        The given objects may be changed. With a log, calls of other servers are made by it.
        """
        ...

    async def to_storage(self, obj: Object) -> Object:
        """Return an object in the storage version. Do not change the given one.

        Raises:
            StatusError: it cannot be converted.
        """
        ...
