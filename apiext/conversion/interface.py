"""The seam between a codec and the way its objects change version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object


class Converter(Protocol):
    """Turns an object of one version of a CRD into another version."""

    def convert(self, obj: Object, api_version: str) -> Object:
        """The object in the version named; may change and give back the object it got. Raises ValueError when it cannot."""
        ...
