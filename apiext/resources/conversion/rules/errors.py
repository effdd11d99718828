"""Errors of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.field import aggregate
from apiext.resources.conversion.interface import ConversionError

if TYPE_CHECKING:
    from apiext.base.meta.field import FieldError


class InvalidConversionError(ConversionError):
    """A Conversion object is invalid, so that no object can be converted by it. The text has the path and the reason of each error."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__(aggregate(errors))
        self.errors = errors

    def copy(self) -> InvalidConversionError:
        """Return an equal error to raise elsewhere."""
        return InvalidConversionError(self.errors)
