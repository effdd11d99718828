"""Elements of field paths in the form of FieldsV1: f:<name>, k:<keys as JSON>, v:<value as JSON>, i:<index>.

Each element has exactly one text, so that two elements are equal if their texts are. Mirrors structured-merge-diff
fieldpath/element.go and serialize-pe.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.foreign_values import NullNumber

_INDEX: Final = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII)
_FIRST_BEYOND_INT64: Final = 2**63
_EXACT: Final = 2**53
"""Integers up to this magnitude are exact in float64, the only number type of the reference's FieldsV1."""
_PLAIN: Final = re.compile(r"[ !#-%'-;=?-\[\]-~]*")
"""Strings without escapes in JSON."""
_KINDS: Final = "fkvi"
"""Kinds of elements in the reference's order."""
_CACHED_ELEMENTS: Final = 8192
_MAX_CACHED_LENGTH: Final = 128
"""Characters of a cached element; each cache holds a few MiB at most."""


def of_value(value: Any) -> str:
    """Return the element of an item of a set."""
    return f"v:{as_json(value)}"


def of_keys(keys: Iterable[tuple[str, Any]]) -> str:
    """Return the element of an item of a list map from the names and values of its keys, in the order of the names."""
    return f"k:{{{','.join(f'{as_json(name)}:{as_json(value)}' for name, value in keys)}}}"


def as_json(value: Any) -> str:
    """Return a value in the form that it has in elements."""
    if type(value) is str:
        return _cached_text(value) if len(value) <= _MAX_CACHED_LENGTH else _text(value)
    return _escaped(value)


def _text(value: str) -> str:
    return f'"{value}"' if _PLAIN.fullmatch(value) else _escaped(value)


_cached_text = lru_cache(maxsize=_CACHED_ELEMENTS)(_text)


def _escaped(value: Any) -> str:
    text = json_codec.dumps(json_values.transform(value, _as_float64)).decode()
    # The reference's writer of elements has no short escapes for these two.
    return re.sub(r"\\([bf\\])", _long_escape, text) if "\\" in text else text


def _as_float64(value: Any) -> Any:
    return float(value) if type(value) is int and not -_EXACT <= value <= _EXACT else value


def _long_escape(match: re.Match[str]) -> str:
    return {"b": "\\u0008", "f": "\\u000c"}.get(match[1], match[0])


def canonical(text: str) -> str | None:
    """Return the canonical form of an element, None for an unknown kind.

    Raises:
        ValueError: the element is invalid.
    """
    if text.startswith("f:"):
        return text
    return _cached_canonical(text) if len(text) <= _MAX_CACHED_LENGTH else _canonical(text)


def _canonical(text: str) -> str | None:
    kind, colon, rest = text[:1], text[1:2], text[2:]
    if colon != ":":
        raise ValueError(f"missing colon: {text}" if len(text) > 1 else "key must be 2 characters long:")
    if kind == "k":
        keys = json_codec.loads(rest.encode())
        if keys is not None and not isinstance(keys, dict):
            raise ValueError(f"the keys are not an object: {text}")
        return of_keys(sorted((keys or {}).items()))
    if kind == "v":
        return of_value(json_codec.loads(rest.encode()))
    return f"i:{_index(rest)}" if kind == "i" else None


def _index(text: str) -> int:
    found = _INDEX.fullmatch(text)
    index = int(found[1] + found[2]) if found else _FIRST_BEYOND_INT64
    if not -_FIRST_BEYOND_INT64 <= index < _FIRST_BEYOND_INT64:
        raise ValueError(f"the index is no 64-bit integer: {text}")
    return index


_cached_canonical = lru_cache(maxsize=_CACHED_ELEMENTS)(_canonical)


def order(element: str) -> tuple[Any, ...]:
    """Return the sort key of an element: names, then keys, values and indexes; numbers before strings before booleans."""
    kind = _KINDS.find(element[0])
    if kind == 0:
        return kind, element
    return _cached_order(kind, element) if len(element) <= _MAX_CACHED_LENGTH else _order(kind, element)


def _order(kind: int, element: str) -> tuple[Any, ...]:
    content = json_codec.loads(element[2:].encode())
    if _KINDS[kind] == "k":
        return kind, tuple((name, _rank(value)) for name, value in content.items())
    return kind, _rank(content)


_cached_order = lru_cache(maxsize=_CACHED_ELEMENTS)(_order)


def _rank(value: Any) -> tuple[Any, ...]:
    """Return the sort key of a JSON value (value.Compare)."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, value
    if isinstance(value, list):
        return 3, tuple(map(_rank, value))
    if isinstance(value, dict):
        return 4, tuple((name, _rank(value[name])) for name in sorted(value))
    return (5,)


def text(element: str) -> str:
    """Return an element as error messages print it; numbers print as float64."""
    kind, content = element[0], element[2:]
    if kind == "f":
        return f".{content}"
    if kind == "i":
        return f"[{content}]"
    value = json_values.transform(json_codec.loads(content.encode()), _number)
    return keys_text(value.items()) if kind == "k" else value_text(value)


def _number(value: Any) -> Any:
    return float(value) if type(value) is int else value


def keys_text(keys: Iterable[tuple[str, Any]]) -> str:
    """Return the keys of an item of a list map as error messages print them."""
    return f"[{','.join(f'{name}={_printed(value)}' for name, value in keys)}]"


def value_text(value: Any) -> str:
    """Return an item of a set as error messages print it."""
    return f"[={_printed(value)}]"


def _printed(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, NullNumber):
        return "{{undefined}}"
    if isinstance(value, str):
        return formatting.quote(value)
    if isinstance(value, list):
        return f"[{','.join(map(_printed, value))}]"
    if isinstance(value, dict):
        return "".join(f"{name}={_printed(member)}" for name, member in value.items())
    return formatting.value(value)
