"""Go types with JSON forms of their own."""

from typing import Any

import pytest

from apiext.base.meta.golang.type_model import DecodeError, Decoder
from apiext.base.meta.golang.value_types import IntOrString, QuantityText


@pytest.mark.parametrize("given, canonical", [("1024Mi", "1Gi"), ("1000m", "1"), (1.5, "1500m"), (2, "2"), (None, "0"), ("1e3", "1e3")])
def test_quantity(given: Any, canonical: str) -> None:
    """Bring a quantity into its canonical form."""
    Decoder(report=True).run(QuantityText(), given)

    assert QuantityText().canonical(given) == canonical


@pytest.mark.parametrize("given", ["", "1x", "a"])
def test_invalid_quantity(given: str) -> None:
    """Reject a text that is no quantity."""
    with pytest.raises(DecodeError):
        Decoder(report=True).run(QuantityText(), given)


@pytest.mark.parametrize("given, canonical", [("http", "http"), (80, 80), (None, 0)])
def test_int_or_string(given: Any, canonical: Any) -> None:
    """Keep numbers and texts."""
    Decoder(report=True).run(IntOrString(), given)

    assert IntOrString().canonical(given) == canonical


@pytest.mark.parametrize("given", [1.5, True, [], 2**40])
def test_invalid_int_or_string(given: Any) -> None:
    """Reject other values."""
    with pytest.raises(DecodeError):
        Decoder(report=True).run(IntOrString(), given)
