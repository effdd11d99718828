"""Conversion for worker processes: the server converts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.conversion.interface import Converted
    from apiext.meta.json_codec import Object
    from apiext.workers.link import ServerLink

CONVERT = "convert"
"""The question; its answer is the `convert` of the server's converter."""


class RemoteConverter:
    """Implements Converter: asks the server."""

    def __init__(self, link: ServerLink) -> None:
        self._link = link

    async def convert(self, objects: Sequence[Object], api_version: str) -> Sequence[Converted]:
        """Implement Converter.convert."""
        converted: Sequence[Converted] = self._link.ask(CONVERT, objects, api_version)
        return converted
