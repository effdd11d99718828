"""Converters: how objects change version (apiextensions-apiserver pkg/apiserver/conversion/converter.go)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from apiext.meta.encoding.json_codec import Object


class ConversionError(ValueError):
    """An object cannot be converted. Readers report a corrupt object."""

    def copy(self) -> ConversionError:
        """Return an equal error to raise elsewhere: a raised exception keeps the frames of its traceback alive."""
        return ConversionError(str(self))


Converted = Object | ConversionError
"""A converted object, or the error in its place."""


class Converter(Protocol):
    """Converts objects of one CRD between its versions."""

    async def convert(self, objects: Sequence[Object], api_version: str) -> Sequence[Converted]:
        """Return the objects in the named version: as many as given, in the same order, with errors in the place of those that fail.

        The objects belong to the converter: it may change them in place and return them. They may be of several versions, but
        none is of the named one. Callers convert at most a page of a list at a time.
        """
        ...


class CopiedConverter(Converter, Protocol):
    """A converter of the server, with copies in worker processes."""

    def answers(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return what answers the questions of the copies (`conversion/remote.py`)."""
        ...


@runtime_checkable
class InlineConverter(Converter, Protocol):
    """A converter that never waits. Codecs then convert while they decode and encode, without a task switch."""

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Return the object, possibly the same one, in the named version.

        Raises:
            ConversionError: the object cannot be converted.
        """
        ...
