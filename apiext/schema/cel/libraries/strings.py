"""Functions of strings (cel-go ext/strings.go, version 2)."""

from __future__ import annotations

from typing import Final

from apiext.base.meta.golang import formatting
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import actual_size, read_once, read_twice, string_cost, traversal
from apiext.schema.cel.libraries.library import Cost, Implementation, Library, Overload
from apiext.schema.cel.libraries.string_format import format_string
from apiext.schema.cel.standard.result_size import check_result_size
from apiext.schema.cel.types import DYN, INT, STRING, CelType, list_of

_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""White space of Unicode; Python's includes more control characters."""
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_ESCAPES: Final = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
)


def _check_index(text: str, index: int) -> None:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")


def _check_offset(offset: int) -> None:
    if offset < 0:
        raise CelError(f"index out of range: {offset}")


def _char_at(text: str, index: int) -> str:
    _check_index(text, index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    _check_offset(offset)
    return text.find(part, offset) if part else min(offset, len(text))


def _last_index_of(text: str, part: str) -> int:
    return _last_index_before(text, part, max(len(text) - 1, 0)) if part else len(text)


def _last_index_before(text: str, part: str, offset: int) -> int:
    _check_offset(offset)
    if not part:
        return min(offset, len(text))
    if offset >= len(text):
        return -1
    # Searching backwards takes quadratic time on hostile texts, forwards it does not.
    found = text[: offset + len(part)][::-1].find(part[::-1])
    return found if found < 0 else min(len(text), offset + len(part)) - found - len(part)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(new) > len(old):
        found = text.count(old)
        check_result_size(len(text) + (found if count < 0 else min(found, count)) * (len(new) - len(old)))
    return text.replace(old, new, max(count, -1))


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, max(limit, 0) - 1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int) -> str:
    _check_index(text, start)
    return text[start:]


def _substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    _check_index(text, start)
    _check_index(text, end)
    return text[start:end]


def _join(texts: list[str], separator: str = "") -> str:
    check_result_size(len(separator) * len(texts))
    for text in texts:
        if not isinstance(text, str):
            raise CelError(f"join: invalid input: {0 if text is None else formatting.value(text)}")
    return separator.join(texts)


def _member(overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation, cost: Cost | None) -> Overload:
    return Overload(
        id=overload, parameters=parameters, result=result, implementation=implementation, member=True, cost=cost, undetermined_cost=cost
    )


_TEXTS: Final = list_of(STRING)

STRINGS: Final = Library(
    name="cel.lib.ext.strings",
    functions={
        "charAt": (_member("string_char_at_int", (STRING, INT), STRING, _char_at, None),),
        "indexOf": (
            _member("string_index_of_string", (STRING, STRING), INT, _index_of, traversal),
            _member("string_index_of_string_int", (STRING, STRING, INT), INT, _index_of, traversal),
        ),
        "lastIndexOf": (
            _member("string_last_index_of_string", (STRING, STRING), INT, _last_index_of, traversal),
            _member("string_last_index_of_string_int", (STRING, STRING, INT), INT, _last_index_before, traversal),
        ),
        "lowerAscii": (_member("string_lower_ascii", (STRING,), STRING, lambda text: text.translate(_LOWER), read_once),),
        "replace": (
            _member("string_replace_string_string", (STRING, STRING, STRING), STRING, _replace, read_twice),
            _member("string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, _replace, read_twice),
        ),
        "split": (
            _member("string_split_string", (STRING, STRING), _TEXTS, _split, read_twice),
            _member("string_split_string_int", (STRING, STRING, INT), _TEXTS, _split, read_twice),
        ),
        "substring": (
            _member("string_substring_int", (STRING, INT), STRING, _substring, read_once),
            _member("string_substring_int_int", (STRING, INT, INT), STRING, _substring_range, read_once),
        ),
        "trim": (_member("string_trim", (STRING,), STRING, lambda text: text.strip(_SPACE), read_once),),
        "upperAscii": (_member("string_upper_ascii", (STRING,), STRING, lambda text: text.translate(_UPPER), read_once),),
        "format": (_member("string_format", (STRING, list_of(DYN)), STRING, format_string, read_once),),
        "strings.quote": (
            Overload(
                id="strings_quote",
                parameters=(STRING,),
                result=STRING,
                implementation=lambda text: f'"{text.translate(_ESCAPES)}"',
                cost=read_once,
            ),
        ),
        "join": tuple(
            _member(overload, parameters, STRING, _join, lambda _arguments, result: string_cost(actual_size(result), 0.2))
            for overload, parameters in (("list_join", (_TEXTS,)), ("list_join_string", (_TEXTS, STRING)))
        ),
    },
)
