"""Go types of times in API objects: metav1.Time and metav1.MicroTime."""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

from typing import Any

from apiext.base.meta import time
from apiext.base.meta.golang.type_model import DecodeError, Decoder, GoType


class Time(GoType):
    """metav1.Time: whole seconds, in UTC."""

    __slots__ = ("omit_zero",)
    _formatted = staticmethod(time.canonical)

    def __init__(self, *, omit_zero: bool = False) -> None:
        super().__init__("v1.Time")
        self.omit_zero = omit_zero

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        if not isinstance(value, str):
            decoder.fail(value, "string")
        try:
            self._formatted(value)
        except ValueError as error:
            raise DecodeError(str(error)) from None

    def canonical(self, value: Any) -> Any:
        if not isinstance(value, str):
            return None
        try:
            return self._formatted(value)
        except ValueError:
            return None

    def empty(self, value: Any) -> bool:
        return self.omit_zero and value is None


class MicroTime(Time):
    """metav1.MicroTime: microseconds, in UTC."""

    __slots__ = ()
    _formatted = staticmethod(time.canonical_micro)
