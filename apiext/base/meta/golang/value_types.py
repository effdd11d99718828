"""Go types with JSON forms of their own: quantities, and numbers or texts."""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

from typing import Any, Final

from apiext.base.meta import quantity
from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.type_model import DecodeError, Decoder, GoType, Int


class IntOrString(GoType):
    """intstr.IntOrString: an int32 or a text."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("intstr.IntOrString")

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is not None and not isinstance(value, str):
            decoder.nested(_INT32, value)

    def canonical(self, value: Any) -> Any:
        return value if isinstance(value, str) else _INT32.canonical(value)

    def empty(self, value: Any) -> bool:
        return False


class QuantityText(GoType):
    """resource.Quantity: a number with a suffix; a JSON number is the same as its text."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("resource.Quantity")

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        try:
            self._parsed(value)
        except ValueError as error:
            raise DecodeError(str(error)) from None

    def canonical(self, value: Any) -> Any:
        try:
            return "0" if value is None else str(self._parsed(value))
        except ValueError:
            return "0"

    def empty(self, value: Any) -> bool:
        return False

    @staticmethod
    def _parsed(value: Any) -> quantity.Quantity:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return quantity.parse(formatting.number(value))
        # the reference reads the text of any other JSON value
        return quantity.parse(value if isinstance(value, str) else str(value))


_INT32: Final = Int(32)
