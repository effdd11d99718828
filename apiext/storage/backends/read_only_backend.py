"""Base of backends without writes."""

from __future__ import annotations

from typing import ClassVar

from apiext.storage.backend import Guard, UnavailableError, WriteResult


class ReadOnlyBackend:
    """Refuses the writes of Backend. Subclasses give the reason.

    Raises:
        UnavailableError: from every write.
    """

    REFUSAL: ClassVar[str]

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)
