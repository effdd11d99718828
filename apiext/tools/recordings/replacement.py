"""Values that replace secrets: of the same type, and valid by the schema of their place where a simple value is."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, Final

from apiext.schema.pattern import PatternError
from apiext.schema.validation.checker import compile_check
from apiext.schema.validation.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.schema.validation.keywords.constraint import Check
    from apiext.tools.recordings.object_walk import Schema

_MASK: Final = ((re.compile(r"[a-z]"), "x"), (re.compile(r"[A-Z]"), "X"), (re.compile(r"[1-9]"), "0"))
_MAX_PADDING: Final = 4096
"""Characters that a replacement is extended by, to have the minimum length."""


class Replacements:
    """Numbers the secrets of one object: equal secrets get equal replacements, different ones different ones.

    The numbers say nothing about the secrets, and nothing about those of other objects.
    """

    def __init__(self) -> None:
        self._checks: dict[int, tuple[Schema, Check | None]] = {}
        self._numbers: dict[str, int] = {}

    def start(self) -> None:
        """Begin with another object."""
        self._numbers.clear()

    def text(self, secret: str, schema: Schema) -> str:
        """Return the replacement of a text. A value of an enumeration stays, as it is no secret."""
        if not secret or schema.get("enum"):
            return secret
        number = self._numbers.setdefault(secret, len(self._numbers) + 1)
        plain = f"redacted-{number}"
        check = self._check(schema)
        if check is None:
            return plain
        return next((text for text in _candidates(secret, plain, number, schema) if check(text)), plain)

    def number(self, value: float, schema: Schema) -> float:
        """Return the replacement of a number: 0 or a limit of the schema."""
        check = self._check(schema)
        if schema.get("enum"):
            return value
        limits = [schema[name] for name in ("minimum", "maximum", "multipleOf") if isinstance(schema.get(name), int | float)]
        candidates = [kind for one in (0, 1, *limits) for kind in (type(value)(one),)]
        return next((one for one in candidates if check is None or check(one)), candidates[0])

    def _check(self, schema: Schema) -> Check | None:
        if not schema:
            return None
        known = self._checks.get(id(schema))
        if known is None:
            known = self._checks[id(schema)] = schema, _compiled(schema)
        return known[1]


def _compiled(schema: Schema) -> Check | None:
    check = compile_check(Spec(schema, served=True))

    def safe(value: Any) -> bool:
        try:
            return check(value)
        except PatternError:
            return True

    return safe


def _candidates(secret: str, plain: str, number: int, schema: Schema) -> Iterator[str]:
    """Yield texts that many schemas accept, the clearest one first; the last one has the secret's length and kinds of characters."""
    longer = plain + "x" * min(max(0, (schema.get("minLength") or 0) - len(plain)), _MAX_PADDING)
    yield longer
    yield base64.b64encode(longer.encode()).decode()
    yield longer.replace("-", "")
    yield longer.replace("-", "").upper()
    if schema.get("format"):
        yield f"https://{plain}.invalid"
        yield f"{plain}@example.com"
        yield f"00000000-0000-4000-8000-{number:012}"
        yield f"20{number % 100:02}-01-01T00:00:00Z"
        yield f"20{number % 100:02}-01-01"
        yield f"192.0.2.{number % 256}"
        yield f"2001:db8::{number % 10_000}"
        yield f"192.0.2.{number % 256}/32"
        yield f"{number}s"
    masked = secret
    for pattern, mask in _MASK:
        masked = pattern.sub(mask, masked)
    yield masked
