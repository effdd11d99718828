"""The end of a transformation: the target's schema decides which fields stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.rules.metadata_texts import check_texts
from apiext.schema.shared_pruning import SharedPruning

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import FieldSteps
    from apiext.schema.compiled import CompiledSchema

Finish = Callable[[Object, Object], bool]
"""Prunes an object, but changes no object or list in it: they may be shared. Returns whether there was nothing to prune.

Values that are the same Python objects in the second object, which is pruned, need no check.
"""


def finisher(schema: CompiledSchema, metadata: tuple[FieldSteps, ...] = ()) -> Finish:
    """Return the function that prunes objects by a schema, with the nulls that it does not allow.

    It raises ConversionError for labels and annotations at the paths `metadata` that are invalid.
    """
    prune = _pruner(schema)
    if not metadata:
        return prune

    def finish(obj: Object, known: Object) -> bool:
        check_texts(obj, metadata)
        return prune(obj, known)

    return finish


def _pruner(schema: CompiledSchema) -> Finish:
    return _keep if schema.preserve_unknown_fields else SharedPruning(schema.structural).apply


def _keep(_obj: Object, _known: Object) -> bool:
    return True
