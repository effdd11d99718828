"""Values of definitions as messages show them."""

from __future__ import annotations

from typing import Any, Final

from apiext.base.meta.encoding import json_codec

_LONGEST: Final = 120
"""Characters of a value that a message shows."""


def shown(value: Any) -> str:
    """Return a JSON value on one line, shortened if it is long."""
    text = json_codec.dumps(value).decode(errors="replace")
    for escaped, plain in (("\\u003c", "<"), ("\\u003e", ">"), ("\\u0026", "&")):
        text = text.replace(escaped, plain)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def listed(values: list[Any]) -> str:
    """Return JSON values with commas between them, shortened if they are long."""
    text = ", ".join(map(shown, values))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
