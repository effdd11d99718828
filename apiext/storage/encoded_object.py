"""What a codec makes of an object that is to be stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class EncodedObject:
    """An object ready to be stored."""

    data: bytes
    """The object in JSON, typed where it is stored in CBOR."""
    revision_at: int = -1
    """Offset at which a resourceVersion member turns the bytes into what `decode` and rendering would give; -1 for unknown."""
    cbor: bytes = b""
    """The object in CBOR where it is stored so."""
    is_checked: bool = False
    """Whether the object surely violates no keyword of its schema. Then `revision_at` is known."""

    @property
    def stored(self) -> bytes:
        """Return the bytes to store."""
        return self.cbor or self.data


@dataclass(slots=True)
class EncodedDraft:
    """An encoded object with all that its rendering needs but the resourceVersion, which only the write knows."""

    key: str
    encoded: EncodedObject
    labels: dict[str, str]
    fields: dict[str, str]
