"""A codec's encoding of an object to be stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class EncodedObject:
    """An object ready to be stored."""

    data: bytes
    """The object in JSON; typed if stored in CBOR."""
    revision_at: int = -1
    """Offset at which a resourceVersion member turns `shown` or else `data` into the decoded and rendered object; -1 if unknown."""
    cbor: bytes = b""
    """The object in CBOR, if stored in CBOR."""
    is_checked: bool = False
    """Whether the object surely satisfies all keywords of its schema. `revision_at` is then known."""
    is_converted: bool = False
    """Whether the object is stored in another version than that of the codec. Its rendering may fail."""
    shown: bytes = b""
    """The rendered object without resourceVersion, with a final newline, if it differs from `data`."""

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
