"""Tokens of an expression (cel-go parser/gen/CEL.g4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
"""The escape sequences of strings."""
_STRING: Final = (
    rf'"""(?:[^\\]|{ESCAPE})*?"""|\'\'\'(?:[^\\]|{ESCAPE})*?\'\'\''
    rf'|"(?:[^\\"\n\r]|{ESCAPE})*+"|\'(?:[^\\\'\n\r]|{ESCAPE})*+\''
    r'|[rR](?:"""(?s:.)*?"""|\'\'\'(?s:.)*?\'\'\'|"[^"\n\r]*+"|\'[^\'\n\r]*+\')'
)
_EXPONENT: Final = r"[eE][+-]?[0-9]+"
_TOKEN: Final = re.compile(
    r"(?P<space>[\t \r\n\f]+|//[^\n]*+)"
    rf"|(?P<float>[0-9]+\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}|\.[0-9]+(?:{_EXPONENT})?)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    rf"|(?P<bytes>[bB](?:{_STRING}))"
    rf"|(?P<string>{_STRING})"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<escaped>`[A-Za-z0-9_./ -]+`)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)

IDENTIFIER: Final = "identifier"
END: Final = "end"
UNRECOGNIZED: Final = "unrecognized"
"""The kind of a character that begins no token."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of an expression in parallel lists, closed by one of the kind `end`.

    A kind is `identifier`, `escaped`, `int`, `uint`, `float`, `string`, `bytes`, `unrecognized`, or the text of a sign or keyword.
    """

    kinds: list[str]
    texts: list[str]
    offsets: list[int]


def tokenize(source: str) -> Tokens:
    """Split an expression. The tokens end before a character that begins none, which is the last one."""
    tokens = Tokens([], [], [])
    position = 0
    for match in _TOKEN.finditer(source):
        if match.start() != position:
            break
        position = match.end()
        kind = match.lastgroup or ""
        if kind == "space":
            continue
        text = match.group()
        if kind == "word":
            kind = text if text in {"in", "true", "false", "null"} else IDENTIFIER
        elif kind == "sign":
            kind = text
        tokens.kinds.append(kind)
        tokens.texts.append(text)
        tokens.offsets.append(match.start())
    if position != len(source):
        tokens.kinds.append(UNRECOGNIZED)
        tokens.texts.append(source[position])
        tokens.offsets.append(position)
    tokens.kinds.append(END)
    tokens.texts.append("")
    tokens.offsets.append(len(source))
    return tokens
