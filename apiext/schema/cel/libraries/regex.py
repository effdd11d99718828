"""Search with regular expressions (apiserver pkg/cel/library/regex.go)."""

from __future__ import annotations

from typing import Final

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import matching
from apiext.schema.cel.libraries.library import Library, Overload
from apiext.schema.cel.standard.functions import compiled_pattern
from apiext.schema.cel.types import INT, STRING, list_of
from apiext.schema.pattern import Pattern


def _pattern(expression: str) -> Pattern:
    try:
        return compiled_pattern(expression)
    except CelError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, expression: str) -> str:
    return next(_pattern(expression).find_all(text), "")


def _find_all(text: str, expression: str, limit: int = -1) -> list[str]:
    matches = _pattern(expression).find_all(text)
    return list(matches) if limit < 0 else [match for _, match in zip(range(limit), matches, strict=False)]


REGEX: Final = Library(
    name="kubernetes.regex",
    functions={
        "find": (
            Overload(
                id="string_find_string",
                parameters=(STRING, STRING),
                result=STRING,
                implementation=_find,
                member=True,
                cost=matching,
                pattern_argument=1,
            ),
        ),
        "findAll": tuple(
            Overload(
                id=overload,
                parameters=parameters,
                result=list_of(STRING),
                implementation=_find_all,
                member=True,
                cost=matching,
                undetermined_cost=matching,
                pattern_argument=1,
            )
            for overload, parameters in (
                ("string_find_all_string", (STRING, STRING)),
                ("string_find_all_string_int", (STRING, STRING, INT)),
            )
        ),
    },
)
