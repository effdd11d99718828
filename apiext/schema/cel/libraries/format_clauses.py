"""Clauses of format strings, such as `%.2f` (cel-go ext/formatting.go)."""

from __future__ import annotations

import re
from typing import Final

from apiext.base.meta.golang.formatting import quote
from apiext.schema.cel.values.run_time_values import INT_MAX

CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.([0-9]*))?(.)?)", re.DOTALL)
"""Groups: a second percent sign, for a literal one; the digits of the precision; the verb."""
RULES: Final = {
    "s": ("string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"),
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
"""Arguments of each verb in the words of errors; `X` as `x`."""


def parse_clause(digits: str | None, verb: str | None) -> tuple[str, int | None]:
    """Return the verb of a clause, and its precision.

    Raises:
        ValueError: the clause is malformed; the text is the reference's.
    """
    problem = "could not parse formatting clause: "
    if verb is None:
        if digits is None:
            raise ValueError("unexpected end of string")
        raise ValueError(f"{problem}error while parsing precision: could not find end of precision specifier")
    precision = None
    if digits is not None:
        precision = int(digits.lstrip("0")[: len(str(INT_MAX)) + 1] or "0")
        if not digits or precision > INT_MAX:
            reason = "value out of range" if digits else "invalid syntax"
            conversion = f"error while converting precision to integer: strconv.Atoi: parsing {quote(digits)}: {reason}"
            raise ValueError(f"{problem}error while parsing precision: {conversion}")
    if verb != "X" and verb not in RULES:
        raise ValueError(f'{problem}unrecognized formatting clause "{chr(verb.encode()[0])}"')
    return verb, precision
