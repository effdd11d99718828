"""Access to stored objects as bytes, on a running server or in the store of a stopped one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.backend import KeyValue
    from apiext.storage.stored_object import UnreadableObject


class RescueError(Exception):
    """A step of the rescue failed. The message is one line with the reason."""


class StoredObjects(Protocol):
    """Reads and writes the stored bytes of objects. Keys are relative to the resource: "namespace/name" or "name".

    Raises:
        RescueError: from every method, if the server or the store does not answer or refuses the request.
    """

    async def definitions(self) -> Sequence[Definition]:
        """Return all definitions, sorted by name."""
        ...

    def unreadable(self, definition: Definition) -> AsyncGenerator[UnreadableObject]:
        """Yield the objects that cannot be read, in order."""
        ...

    def unconvertible(self, definition: Definition) -> AsyncGenerator[tuple[str, str]]:
        """Yield the keys of the objects that the conversion webhook refuses to convert to the storage version, with its reasons.

        Raises:
            RescueError: also without a running server: only servers call webhooks.
        """
        ...

    async def problem(self, definition: Definition, key: str) -> str:
        """Return why an object cannot be read; "" if it can, or does not exist."""
        ...

    def all(self, definition: Definition) -> AsyncGenerator[tuple[str, KeyValue]]:
        """Yield all objects with their keys."""
        ...

    async def get(self, definition: Definition, key: str) -> KeyValue | None:
        """Return an object, or None."""
        ...

    async def replace(self, definition: Definition, key: str, data: bytes, *, revision: int, encode: bool) -> int:
        """Replace an object if it still has a revision; return the new one. With `encode`, write it in the storage version.

        Raises:
            RescueError: the new bytes cannot be read or encoded.
        """
        ...

    async def delete(self, definition: Definition, key: str, *, revision: int) -> None:
        """Delete an object if it still has a revision."""
        ...

    async def close(self) -> None:
        """Close connections and files."""
        ...
