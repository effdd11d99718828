"""Converters: how objects change version (apiextensions-apiserver pkg/apiserver/conversion/converter.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.json_codec import Object


class Converter(Protocol):
    """Converts objects of one CRD between its versions."""

    async def convert(self, objects: Sequence[Object], api_version: str) -> Sequence[Object]:
        """Return the objects in the named version: as many as given, in the same order.

        The objects belong to the converter: it may change them in place and return them. They may be of several versions, but
        none is of the named one. A call fails as a whole, and callers convert at most a page of a list at a time.

        Raises:
            ValueError: an object cannot be converted. Readers then report a corrupt object.
            StatusError: the converter cannot be used, for example because a webhook does not answer. Clients get this error.
        """
        ...


@runtime_checkable
class InlineConverter(Converter, Protocol):
    """A converter that never waits. Codecs then convert while they decode and encode, without a task switch."""

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Return the object, possibly the same one, in the named version.

        Raises:
            ValueError: the object cannot be converted.
        """
        ...
