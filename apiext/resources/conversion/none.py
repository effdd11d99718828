"""Conversion strategy None: versions differ only in their names (conversion/nop_converter.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.resources.conversion.interface import Converter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog


class NoneConverter(Converter):
    """Sets apiVersion and changes nothing else."""

    __slots__ = ()
    is_inline = True

    async def convert(self, objects: Sequence[Object], api_version: str, _log: CallLog | None = None) -> list[Object]:
        """Implement Converter.convert."""
        return [self.convert_inline(obj, api_version) for obj in objects]

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Implement Converter.convert_inline."""
        obj["apiVersion"] = api_version
        return obj
