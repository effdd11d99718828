"""Generates texts that match a regular expression."""

from __future__ import annotations

import random
import re
from typing import Any

_parser: Any = getattr(re, "_parser")  # noqa: B009 the parser has no public name
_REPEAT_MORE = 3
_CATEGORIES = {
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_WORD": "abcXYZ019_",
    "CATEGORY_SPACE": " \t",
    "CATEGORY_NOT_DIGIT": "abc-",
    "CATEGORY_NOT_WORD": "-. ",
    "CATEGORY_NOT_SPACE": "abc019-",
}


def sample(pattern: str, rng: random.Random) -> str | None:
    """Return a text that matches the expression, or None if Python's syntax differs from RE2's there."""
    try:
        tree = _parser.parse(pattern.replace("[[:alnum:]]", "[a-z0-9]").replace("\\z", "$"))
        text = _sequence(tree, rng)
    except (re.error, KeyError, OverflowError):
        return None
    return text


def _sequence(tree: Any, rng: random.Random) -> str:
    return "".join(_item(str(kind), argument, rng) for kind, argument in tree)


def _item(kind: str, argument: Any, rng: random.Random) -> str:
    if kind == "LITERAL":
        return chr(argument)
    if kind == "NOT_LITERAL":
        return "a" if argument != ord("a") else "b"
    if kind == "ANY":
        return rng.choice("abz09-.")
    if kind == "AT":
        return ""
    if kind == "IN":
        return _one_of(argument, rng)
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, tree = argument
        times = rng.randint(least, min(most, least + _REPEAT_MORE))
        return "".join(_sequence(tree, rng) for _ in range(times))
    if kind == "SUBPATTERN":
        return _sequence(argument[-1], rng)
    if kind == "BRANCH":
        return _sequence(rng.choice(argument[1]), rng)
    raise KeyError(kind)


def _one_of(members: Any, rng: random.Random) -> str:
    negated = str(members[0][0]) == "NEGATE"
    if negated:
        candidates = [char for char in "abcXYZ019_-./ :" if not _among(char, members[1:])]
        return rng.choice(candidates) if candidates else "\u00e9"
    kind, argument = rng.choice(members)
    if str(kind) == "LITERAL":
        return chr(argument)
    if str(kind) == "RANGE":
        low, high = argument
        return chr(rng.randint(low, min(high, low + 40)))
    return rng.choice(_CATEGORIES[str(argument)])


def _among(char: str, members: Any) -> bool:
    for kind, argument in members:
        name = str(kind)
        if name == "LITERAL" and ord(char) == argument:
            return True
        if name == "RANGE" and argument[0] <= ord(char) <= argument[1]:
            return True
        if name == "CATEGORY" and char in _CATEGORIES[str(argument)]:
            return True
    return False
