"""YAML scalars with the types of go-yaml v2 (resolve.go): YAML 1.1 words, C-like integers, no base 60."""

from __future__ import annotations

import base64
import binascii
import math
import re
from types import NoneType
from typing import Any, Final

import yaml

from apiext.base.meta.encoding.json_decoder import BodyDecodeError

PREFIX: Final = "tag:yaml.org,2002:"
"""Prefix of the tags of YAML's own types."""
MERGE: Final = object()
"""Value of the plain scalar "<<"."""
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    "<<": MERGE,
}
FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DECIMAL: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_OCTAL: Final = re.compile(r"([-+]?)0[oO]?([0-7]+)")
_HEX: Final = re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)")
_BINARY: Final = re.compile(r"([-+]?)0[bB]([01]+)")
TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"([Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?)?"
)
_TAGGED: Final[dict[str, type | tuple[type, ...]]] = {"bool": bool, "int": int, "float": (int, float), "null": NoneType}
"""Types of values by the tags that name them."""
_MAX_UINT64: Final = 2**64 - 1


def scalar(event: yaml.ScalarEvent) -> Any:
    """Return the value of a scalar, MERGE for a merge key.

    Raises:
        BodyDecodeError: the text is no value of the type that its tag names.
    """
    tag, text = event.tag, event.value
    if tag is None or tag == "!":
        return resolve(text) if event.implicit[0] and tag is None else text
    if not tag.startswith(PREFIX):
        return text
    name = tag[len(PREFIX) :]
    if name == "binary":
        return _decode_binary(text)
    if name not in _TAGGED:
        return text
    value = resolve(text)
    if not isinstance(value, _TAGGED[name]):
        raise BodyDecodeError(f"yaml: cannot decode `{text}` as a !!{name}")
    return float(value) if isinstance(value, int) and name == "float" else value


def _decode_binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError) as error:
        raise BodyDecodeError("yaml: !!binary value contains invalid base64 data") from error


def resolve(text: str) -> Any:
    """Return the value of a plain scalar by go-yaml's rules: YAML 1.1 words, C-like integers, no base 60."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first == ".":
        return float(text) if FLOAT.fullmatch(text) else text
    if first not in "+-0123456789":
        return text
    return _number(text)


def _number(text: str) -> Any:
    plain = text.replace("_", "")
    value: int | None = None
    if _DECIMAL.fullmatch(plain):
        value = int(plain) if len(plain) <= 21 else None
    else:
        for pattern, base in ((_OCTAL, 8), (_HEX, 16), (_BINARY, 2)):
            match = pattern.fullmatch(plain)
            if match and len(plain) <= 70:
                value = int(match.group(1) + match.group(2), base)
                break
    if value is not None and -(2**63) <= value <= _MAX_UINT64:
        return value
    if not FLOAT.fullmatch(plain):
        return text
    number = float(plain)
    return number if math.isfinite(number) else text
