"""Decoding of typed resources."""

from apiext.base.meta.golang.struct_type import Struct
from apiext.base.meta.golang.type_model import Decoder


def test_limits_unknown_fields() -> None:
    """Report 100 unknown fields, fewer if their names are long."""
    nothing = Struct("Nothing").define()

    assert len(Decoder(report=True).run(nothing, {str(number): 1 for number in range(200)})) == 100
    assert 1 < len(Decoder(report=True).run(nothing, {f"{number}{'k' * 1_000_000}": 1 for number in range(20)})) < 10
