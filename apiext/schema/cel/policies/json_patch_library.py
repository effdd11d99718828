"""Paths of JSON patches (apiserver pkg/cel/library/jsonpatch.go)."""

from __future__ import annotations

from typing import Final

from apiext.schema.cel.libraries.costs import read_once
from apiext.schema.cel.libraries.library import Library, Overload
from apiext.schema.cel.types import STRING

_ESCAPES: Final = str.maketrans({"/": "~1", "~": "~0"})


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)


JSON_PATCH_PATHS: Final = Library(
    name="kubernetes.jsonpatch",
    functions={
        "jsonpatch.escapeKey": (
            Overload(
                id="string_jsonpatch_escapeKey_string",
                parameters=(STRING,),
                result=STRING,
                implementation=_escape,
                cost=read_once,
                undetermined_cost=read_once,
            ),
        ),
    },
)
