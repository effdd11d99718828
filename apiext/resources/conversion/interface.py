"""Converters: how objects change version (apiextensions-apiserver pkg/apiserver/conversion/converter.go)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

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


class Converter(ABC):
    """Converts objects of one CRD between its versions. Attributes tell what a converter can do besides `convert`."""

    __slots__ = ()

    @property
    def calls(self) -> ConversionCalls | None:
        """The calls that copies of the converter in worker processes let the server make; None if they make none."""
        return None

    @property
    def is_inline(self) -> bool:
        """Whether it never waits, and every conversion is short enough for the event loop.

        Codecs then use `convert_inline` while they decode and encode, without a task switch. If not, they await `convert`.
        """
        return False

    @property
    def prunes(self) -> bool:
        """Whether converted objects are pruned by the schema of their version, and no object or list in the given ones changes."""
        return False

    @property
    def carrying(self) -> CarriedContent | None:
        """What keeps the content that a version lacks; None if the converter carries nothing."""
        return None

    @abstractmethod
    async def convert(self, objects: Sequence[Object], api_version: str, log: CallLog | None = None) -> Sequence[Converted]:
        """Return the objects in the named version: as many as given, in the same order, with errors in the place of those that fail.

        The objects belong to the converter: it may change them in place and return them. They may be of several versions, but
        none is of the named one. Callers convert at most a page of a list at a time. With a log, webhooks are called by it; it is
        that of one conversion.
        """

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Return the object, possibly the same one, in the named version, without waiting.

        Raises:
            ConversionError: the object cannot be converted.
            NotImplementedError: the converter has to wait.
        """
        raise NotImplementedError


class CarriedContent(Protocol):
    """Keeps what a version lacks in an annotation, which clients do not write."""

    def keep(self, metadata: Object, before: Object) -> None:
        """Give the metadata of a changed object, in place, what it carried before."""
        ...

    def settle(self, obj: Object, *, is_new: bool = False) -> None:
        """Remove from an object that is to be written, in place, what it carries for places that it does not have.

        What a new object carries that no conversion can have written is removed, too. Objects of other versions than the storage version
        stay: their conversion does the same.
        """
        ...
