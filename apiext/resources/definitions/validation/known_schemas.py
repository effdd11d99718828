"""Schemas that were validated before: validation takes most of the time of a write of a definition, and most writes repeat a schema.

Every update repeats that of the stored definition, an installer applies its definitions with each start, and tests create theirs anew.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from apiext.schema.model import Props

MAX_KNOWN: Final = 1000
"""Schemas of a kind: as many as a large cluster has. Each takes some 150 bytes."""


def digest(root: Props) -> bytes:
    """Return the digest of a schema: equal for equal schemas, whatever the order of their members."""
    return sha256(json_codec.dumps(root, typed=True)).digest()


class KnownSchemas:
    """The digests of the schemas that were added last."""

    __slots__ = ("_digests",)

    def __init__(self) -> None:
        self._digests: dict[bytes, None] = {}

    def __contains__(self, of: bytes) -> bool:
        """Return whether a digest is known, and keep it longer."""
        known = self._digests.pop(of, self) is None
        if known:
            self._digests[of] = None
        return known

    def add(self, of: bytes) -> None:
        """Add a digest, in place of the one that was used least recently if there are too many."""
        if len(self._digests) >= MAX_KNOWN:
            del self._digests[next(iter(self._digests))]
        self._digests[of] = None

    def clear(self) -> None:
        """Forget all."""
        self._digests.clear()


VALID: Final = KnownSchemas()
"""Schemas without errors under all rules for new ones. Such a schema has none under the rules for an update either, which are fewer."""
VALID_IF_STORED: Final = KnownSchemas()
"""Schemas without errors in an update that left them unchanged: all their expressions are stored ones, and their costs are not limited."""
PLAIN: Final = KnownSchemas()
"""Schemas that cause no warnings."""
