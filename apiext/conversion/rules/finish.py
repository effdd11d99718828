"""The end of a transformation: the target's schema decides which fields stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from apiext.conversion.rules.metadata_texts import check_texts
from apiext.meta.encoding.json_codec import Object
from apiext.schema.canonical import complete, supports
from apiext.schema.defaulting.prune_nulls import prune_non_nullable_nulls_without_defaults
from apiext.schema.pruning import prune_fields

if TYPE_CHECKING:
    from apiext.conversion.rules.model import FieldSteps
    from apiext.schema.compiled import CompiledSchema

Finish = Callable[[Object], bool]
"""Prunes an object in place. Returns whether there was nothing to prune."""


def finisher(schema: CompiledSchema, metadata: tuple[FieldSteps, ...] = ()) -> Finish:
    """Return the function that prunes objects by a schema, with the nulls that it does not allow.

    It raises ConversionError for labels and annotations at the paths `metadata` that are invalid.
    """
    prune = _pruner(schema)
    if not metadata:
        return prune

    def finish(obj: Object) -> bool:
        check_texts(obj, metadata)
        return prune(obj)

    return finish


def _pruner(schema: CompiledSchema) -> Finish:
    structural = schema.structural
    if schema.preserve_unknown_fields:
        return _keep
    resource = structural.as_resource()
    is_fast = supports(structural)

    def prune(obj: Object) -> bool:
        if is_fast and complete(obj, structural, defaults=False):
            return True
        has_dropped = prune_fields(obj, resource)
        return not prune_non_nullable_nulls_without_defaults(obj, structural) and not has_dropped

    return prune


def _keep(_obj: Object) -> bool:
    return True
