"""Conversion strategy None: versions differ only in their names (conversion/nop_converter.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from apiext.meta.encoding.json_codec import Object


class NoneConverter:
    """Implements InlineConverter and CopiedConverter: sets apiVersion and changes nothing else."""

    __slots__ = ()

    async def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """Implement Converter.convert."""
        return [self.convert_inline(obj, api_version) for obj in objects]

    def answers(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Implement CopiedConverter.answers: copies ask nothing."""
        return {}

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Implement InlineConverter.convert_inline."""
        obj["apiVersion"] = api_version
        return obj
