"""JSON values as YAML in block style, which is how the reference's v2 document carries values of any type.

Mirrors what gnostic's compiler.Marshal writes with go.yaml.in/yaml/v3: indented by four, texts plain where they may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from apiext.meta import json_codec

_SIMPLE: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_/.-]*")
_RESERVED: Final = frozenset({"", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"})
_NUMBER: Final = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))"
    r"|\.(?:nan|NaN|NAN)"
)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}.*)?")
_NOT_PLAIN: Final = re.compile(r"""[\s#,\[\]{}&*!|>'"%@`]|[-?:](?:\s|$)|---|\.\.\.|.*(?:\s$|:(?:\s|$)|\s#)""", re.DOTALL)
_SPECIAL: Final = re.compile(r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
_SPACE_BREAK: Final = re.compile(r" (?:\n|$)")
_ESCAPED: Final = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
_ESCAPES: Final[Mapping[str, str]] = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
    "\x85": "N",
    "\u2028": "L",
    "\u2029": "P",
}
_STEP: Final = 4


def dumps(value: Any) -> str:
    """The value as a YAML document of its own, with a newline at its end."""
    return "\n".join(_lines(value, -1, in_list=False)) + "\n"


def _lines(value: Any, indent: int, *, in_list: bool) -> Iterator[str]:
    """The lines of a value; the first one comes without indentation. `indent` is that of what it is in."""
    if isinstance(value, dict) and value:
        deeper = _deeper(indent, in_list=in_list)
        for number, (key, member) in enumerate(value.items()):
            name = _inline(key)
            yield from _member(f"{name}:", member, deeper, first=number == 0)
    elif isinstance(value, list) and value:
        deeper = _deeper(indent, in_list=in_list)
        for number, member in enumerate(value):
            lines = _lines(member, deeper, in_list=True)
            yield f"{'' if number == 0 else ' ' * deeper}- {next(lines)}"
            yield from lines
    elif isinstance(value, str) and _is_block(value):
        yield from _block(value, " " * (_deeper(indent, in_list=in_list) or _STEP))
    else:
        yield _inline(value)


def _member(name: str, value: Any, indent: int, *, first: bool) -> Iterator[str]:
    """A member of a mapping: its value on the same line, or below where it has lines of its own."""
    name = name if first else " " * indent + name
    lines = _lines(value, indent, in_list=False)
    if isinstance(value, dict | list) and value:
        yield name
        yield " " * _deeper(indent, in_list=False) + next(lines)
    else:
        yield f"{name} {next(lines)}"
    yield from lines


def _deeper(indent: int, *, in_list: bool) -> int:
    if indent < 0:
        return 0
    # a list's marker is all the indentation that its items get; anything else falls on a multiple of four
    return indent + 2 if in_list else (indent + _STEP) // _STEP * _STEP


def _inline(value: Any) -> str:
    if not isinstance(value, str):
        return json_codec.dumps(value).decode()
    if _SIMPLE.fullmatch(value) and value not in _RESERVED:
        return value
    if _SPECIAL.search(value) or "\n" in value or _is_typed(value):
        return f'"{_ESCAPED.sub(_escape, value)}"'
    if _NOT_PLAIN.match(value):
        return "'" + value.replace("'", "''") + "'"
    return value


def _is_typed(text: str) -> bool:
    """Whether a reader would take the plain text for something else than a text."""
    return text in _RESERVED or _NUMBER.fullmatch(text.replace("_", "")) is not None or _DATE.fullmatch(text) is not None


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in _ESCAPES:
        return f"\\{_ESCAPES[char]}"
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _is_block(text: str) -> bool:
    return "\n" in text and not _SPECIAL.search(text) and not _SPACE_BREAK.search(text)


def _block(text: str, indent: str) -> Iterator[str]:
    """A text of several lines as it is."""
    hint = str(_STEP) if text[0] in " \n" else ""
    keep = "-" if not text.endswith("\n") else "+" if text == "\n" or text.endswith("\n\n") else ""
    yield f"|{hint}{keep}"
    for line in text.removesuffix("\n").split("\n"):
        yield indent + line if line else ""
