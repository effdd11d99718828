"""Names of properties as identifiers of CEL (apiserver pkg/cel/escaping.go)."""

from __future__ import annotations

import re
from typing import Final

RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"),
        *("package", "namespace", "return", "var", "void", "while"),
    }
)
"""Reserved words of CEL."""

_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_UNESCAPES: Final = {escaped.strip("_"): plain for plain, escaped in _ESCAPES.items()}
_ESCAPED: Final = re.compile(r"__|[-./]")
_ESCAPE: Final = re.compile("_{2}([^_]+)_{2}")
_PLAIN: Final = re.compile("[A-Za-z_./-][A-Za-z0-9_./-]*")


def escape(name: str) -> str | None:
    """Return the identifier of a property, None if it has none."""
    if name in RESERVED:
        return f"__{name}__"
    if not _PLAIN.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def unescape(identifier: str) -> str | None:
    """Return the property for an identifier, None if no property can have it."""
    failed = False

    def plain(match: re.Match[str]) -> str:
        nonlocal failed
        word = match[1]
        if word in RESERVED and match[0] == identifier:
            return word
        failed = failed or word not in _UNESCAPES
        return _UNESCAPES.get(word, "")

    name = _ESCAPE.sub(plain, identifier)
    return None if failed else name
