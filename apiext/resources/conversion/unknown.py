"""Conversion while nobody knows how: it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.resources.conversion.interface import ConversionError, Converter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog


class UnknownConverter(Converter):
    """Fails each conversion with a reason."""

    __slots__ = ("reason",)
    is_inline = True

    def __init__(self, reason: str) -> None:
        self.reason = reason

    async def convert(self, objects: Sequence[Object], _api_version: str, _log: CallLog | None = None) -> list[ConversionError]:
        """Implement Converter.convert."""
        return [ConversionError(self.reason) for _ in objects]

    def convert_inline(self, _obj: Object, _api_version: str) -> Object:
        """Implement Converter.convert_inline."""
        raise ConversionError(self.reason)
