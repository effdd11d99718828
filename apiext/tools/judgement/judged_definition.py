"""A definition that is judged, with its converter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.encoding import json_codec
from apiext.resources.evaluation.evaluated_definition import EvaluatedDefinition

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.judgement.converters import JudgedConverter


class JudgedDefinition(EvaluatedDefinition):
    """All versions of a definition, compiled at first use; whether its converter can be asked is known."""

    def __init__(self, definition: Definition, converter: JudgedConverter) -> None:
        super().__init__(definition, converter.converter)
        self.converter = converter


def stored_bytes(obj: Object) -> bytes:
    """Return the JSON of an object."""
    return json_codec.dumps(obj)
