"""Objects of two stores, compared one by one as they come, in memory that does not grow with their number.

Both sides are read in the order of etcd's keys (`namespace/name`), as kube-apiserver and apiext list them, so that what is on
one side alone is known as soon as the other one has gone past it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.meta import json_codec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from apiext.operator.api_clients import Json

_DIGEST: Final = 16
"""Bytes that tell an object's content from any other's."""


class OrderError(Exception):
    """A side does not list its objects in the order of their keys."""


@dataclass(frozen=True, slots=True)
class Held:
    """An object that a store has."""

    key: str
    """`namespace/name`, or the name alone."""
    content: Json
    """Without resourceVersion, which is the store's own."""
    digest: bytes = field(repr=False)
    """Of the content, whatever the order of its fields."""
    revision: int = 0
    """Of the key, where the store can be asked for it."""

    @property
    def namespace(self) -> str:
        """Empty for what is in no namespace."""
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The object's name."""
        return self.key.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a store has of a resource: how many objects, and a digest of their keys and contents in order."""

    count: int
    digest: str


EMPTY: Final = Contents(0, hashlib.blake2b(digest_size=_DIGEST).hexdigest())


@dataclass(frozen=True, slots=True)
class Difference:
    """An object that the sides do not have alike: `wanted` is to be there, None: nothing is; `present` is there, None: nothing is."""

    wanted: Held | None
    present: Held | None


def held(content: Json, api_version: str = "", revision: int = 0) -> Held:
    """An object as a server shows it, or as a store keeps it; under an apiVersion if one is given. The object is changed."""
    metadata = content["metadata"]
    metadata.pop("resourceVersion", None)
    if api_version:
        content["apiVersion"] = api_version
    namespace = metadata.get("namespace")
    key = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
    return Held(key, content, hashlib.blake2b(json_codec.dumps(content), digest_size=_DIGEST).digest(), revision)


class Side:
    """The objects of one side, one after the other, counted and digested as they are taken."""

    def __init__(self, objects: AsyncIterator[Held]) -> None:
        self._objects = objects
        self._last = b""
        self._count = 0
        self._hash = hashlib.blake2b(digest_size=_DIGEST)
        self.head: Held | None = None
        """The object that comes next; None at the end, and before `take` was called first."""

    async def take(self) -> None:
        """Go on to the next object. Raises OrderError."""
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
    def contents(self) -> Contents:
        """What has been taken."""
        return Contents(self._count, self._hash.hexdigest())


async def differences(wanted: Side, present: Side) -> AsyncGenerator[Difference, None]:
    """What has to change for `present` to hold what `wanted` holds, in the order of keys; then both have been taken wholly.

    Raises:
        OrderError: a side is out of order.
    """
    await wanted.take()
    await present.take()
    while (want := wanted.head) or present.head:
        have = present.head
        order = _compare(want, have)
        if order:
            yield Difference(want, None) if order < 0 else Difference(None, have)
        elif want and have and want.digest != have.digest:
            yield Difference(want, have)
        if order <= 0:
            await wanted.take()
        if order >= 0:
            await present.take()


async def contents(objects: AsyncIterator[Held]) -> Contents:
    """What there is. Raises OrderError."""
    side = Side(objects)
    await side.take()
    while side.head:
        await side.take()
    return side.contents


def _compare(one: Held | None, other: Held | None) -> int:
    """Which of two comes first, by key; what has ended comes last."""
    if one is None or other is None:
        return int(one is None) - int(other is None)
    first, second = one.key.encode(), other.key.encode()
    return int(first > second) - int(first < second)
