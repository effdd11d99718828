"""Compares the objects of two stores, with memory use independent of their number.

Both sides are read in the order of etcd's keys (`namespace/name`), as kube-apiserver and apiext list them. An object is on one side only
once the other side has passed its key.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from apiext.base.meta.encoding import json_codec
from apiext.operator.api_clients import ApiError, Json

_DIGEST_BYTES: Final = 16


class OrderError(ApiError):
    """A side does not list its objects in the order of their keys."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a store."""

    key: str
    """`namespace/name`, or the name of an object without a namespace."""
    content: Json
    """The object without its resourceVersion, which belongs to the store."""
    digest: bytes = field(repr=False)
    """Digest of the content, independent of the order of its fields."""
    revision: int = 0
    """Revision of the key in the store, 0 if unknown."""

    @property
    def namespace(self) -> str:
        """The namespace, empty for an object without one."""
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The name."""
        return self.key.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class ContentSummary:
    """All objects of a resource in a store: their number, and a digest of their keys and contents in order."""

    count: int
    digest: str


UNKNOWN: Final = ContentSummary(-1, "")
"""Contents that were copied and not summarized yet."""
EMPTY: Final = ContentSummary(0, hashlib.blake2b(digest_size=_DIGEST_BYTES).hexdigest())


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the sides: `wanted` has to replace `present`; None means no object."""

    wanted: StoredObject | None
    present: StoredObject | None


def stored_object(content: Json) -> StoredObject:
    """Return the StoredObject of an object from a server or a store. Removes the resourceVersion from `content`."""
    metadata = content["metadata"]
    metadata.pop("resourceVersion", None)
    namespace = metadata.get("namespace")
    key = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
    return StoredObject(key, content, hashlib.blake2b(json_codec.dumps(content), digest_size=_DIGEST_BYTES).digest())


class ObjectStream:
    """Reads the objects of one side in order, and summarizes them."""

    def __init__(self, objects: AsyncIterator[StoredObject]) -> None:
        self._objects = objects
        self._last = b""
        self._count = 0
        self._hash = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self.head: StoredObject | None = None
        """The current object; None at the end, and before the first call of `advance`."""

    async def advance(self) -> None:
        """Read the next object.

        Raises:
            OrderError: its key is not greater than the key before.
        """
        self.head = await anext(self._objects, None)
        if self.head is None:
            return
        key = self.head.key.encode()
        if key <= self._last:
            raise OrderError(f"{self.head.key} is listed after {self._last.decode()}")
        self._last = key
        self._count += 1
        self._hash.update(key + b"\0" + self.head.digest)

    @property
    def summary(self) -> ContentSummary:
        """The summary of the objects read so far."""
        return ContentSummary(self._count, self._hash.hexdigest())


async def differences(wanted: ObjectStream, present: ObjectStream) -> AsyncGenerator[Difference, None]:
    """Yield the changes that make `present` equal to `wanted`, in the order of keys; both sides are read to the end.

    Raises:
        OrderError: a side is out of order.
    """
    await wanted.advance()
    await present.advance()
    while (want := wanted.head) or present.head:
        have = present.head
        order = _compare(want, have)
        if order:
            yield Difference(want, None) if order < 0 else Difference(None, have)
        elif want and have and want.digest != have.digest:
            yield Difference(want, have)
        if order <= 0:
            await wanted.advance()
        if order >= 0:
            await present.advance()


async def summarize(objects: AsyncIterator[StoredObject]) -> ContentSummary:
    """Return the summary of all objects. Raises OrderError."""
    stream = ObjectStream(objects)
    await stream.advance()
    while stream.head:
        await stream.advance()
    return stream.summary


def _compare(one: StoredObject | None, other: StoredObject | None) -> int:
    """Return -1, 0 or 1 for the order of two keys; the end of a side is greater than every key."""
    if one is None or other is None:
        return int(one is None) - int(other is None)
    first, second = one.key.encode(), other.key.encode()
    return int(first > second) - int(first < second)
