"""Conversion while nobody knows how: it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.resources.conversion.interface import ConversionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog


class UnknownConverter:
    """Implements InlineConverter and CopiedConverter: each conversion fails with a reason."""

    __slots__ = ("reason",)
    calls: Final = None
    is_inline: Final = True
    prunes: Final = False

    def __init__(self, reason: str) -> None:
        self.reason = reason

    async def convert(self, objects: Sequence[Object], _api_version: str, _log: CallLog | None = None) -> list[ConversionError]:
        """Implement Converter.convert."""
        return [ConversionError(self.reason) for _ in objects]

    def convert_inline(self, _obj: Object, _api_version: str) -> Object:
        """Implement InlineConverter.convert_inline."""
        raise ConversionError(self.reason)
