"""Conversion strategy None: every version is the same but for its name (conversion/nop_converter.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object


class NoneConverter:
    """Changes apiVersion and nothing else."""

    __slots__ = ()

    def convert(self, obj: Object, api_version: str) -> Object:
        """The same object with another apiVersion."""
        obj["apiVersion"] = api_version
        return obj
