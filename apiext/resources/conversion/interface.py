"""Converters: how objects change version (apiextensions-apiserver pkg/apiserver/conversion/converter.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.scheduling.call_log import CallLog
from apiext.resources.conversion.calls import ConversionCalls


class ConversionError(ValueError):
    """An object cannot be converted. Readers report a corrupt object."""

    def copy(self) -> ConversionError:
        """Return an equal error to raise elsewhere: a raised exception keeps the frames of its traceback alive."""
        return ConversionError(str(self))


Converted = Object | ConversionError
"""A converted object, or the error in its place."""


class UnstorableError(ConversionError):
    """An object must not be stored: a version that has what the storage version lacks would lose it."""

    def copy(self) -> UnstorableError:
        """See ConversionError.copy."""
        return UnstorableError(str(self))


class Converter(Protocol):
    """Converts objects of one CRD between its versions."""

    async def convert(self, objects: Sequence[Object], api_version: str, log: CallLog | None = None) -> Sequence[Converted]:
        """Return the objects in the named version: as many as given, in the same order, with errors in the place of those that fail.

        The objects belong to the converter: it may change them in place and return them. They may be of several versions, but
        none is of the named one. Callers convert at most a page of a list at a time. With a log, webhooks are called by it; it is
        that of one conversion.

        Raises:
            HeavyWorkError: the current request runs on the event loop, and this takes too long (`base/scheduling/inline_work.py`).
        """
        ...


class CopiedConverter(Converter, Protocol):
    """A converter of the server, with copies in worker processes."""

    @property
    def calls(self) -> ConversionCalls | None:
        """The calls that the copies let the server make; None if they make none."""


@runtime_checkable
class InlineConverter(Converter, Protocol):
    """A converter that never waits. Codecs then convert while they decode and encode, without a task switch."""

    @property
    def is_inline(self) -> bool:
        """Return whether every conversion is short enough for the event loop. If not, codecs await `convert`."""
        ...

    @property
    def prunes(self) -> bool:
        """Return whether converted objects are pruned by the schema of their version, and no object or list in the given ones changes."""
        ...

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Return the object, possibly the same one, in the named version.

        Raises:
            ConversionError: the object cannot be converted.
        """
        ...


@runtime_checkable
class CarryingConverter(Protocol):
    """A converter that keeps what a version lacks in an annotation, which clients do not write."""

    def prepare_new(self, metadata: Object, version: str) -> None:
        """Remove from the metadata of a new object, in place, what no object of the version carries."""
        ...

    def keep(self, metadata: Object, before: Object) -> None:
        """Give the metadata of a changed object, in place, what it carried before."""
        ...
