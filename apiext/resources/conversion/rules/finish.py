"""The end of a transformation: the target's schema decides which fields stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from apiext.base.meta import names, unstructured
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.paths import path_text
from apiext.schema.shared_pruning import SharedPruning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from apiext.resources.conversion.rules.model import FieldSteps, Rule
    from apiext.schema.compiled import CompiledSchema

Finish = Callable[[Object, Object], bool]
"""Prunes an object, but changes no object or list in it: they may be shared. Returns whether there was nothing to prune.

Values that are the same Python objects in the second object, which is pruned, need no check.
"""


def named_paths(rule: Rule) -> Iterator[FieldSteps]:
    """Yield the paths of all fields that a rule names, with those below by name."""
    match rule:
        case model.Move(source, target) | model.Copy(source, target):
            yield from (source, target)
        case model.Split(source=whole, targets=parts) | model.Join(target=whole, sources=parts):
            yield from (whole, *parts)
        case model.Expressions(to_hub, to_spoke):
            yield from (each.path for each in (*to_hub, *to_spoke))
        case model.ListToMap(path, key, value) | model.MapToList(path, key, value):
            yield (*path, key, value or key)
        case model.Wrap(path, member) | model.Unwrap(path, member):
            yield (*path, member or model.EACH)
        case _:
            yield rule.path


def metadata_paths(rules: Iterable[Rule]) -> tuple[FieldSteps, ...]:
    """Return the paths of the labels and annotations that rules name."""
    found = {path: None for rule in rules for path in named_paths(rule) if path[0] == "metadata"}
    return tuple(found)


def check_texts(obj: Object, paths: Iterable[FieldSteps]) -> None:
    """Check the labels and annotations of an object at some paths.

    Raises:
        ConversionError: one is no text, or a label has no valid value.
    """
    metadata: Any = obj.get("metadata")
    for path in paths:
        _, group, key = path
        texts = metadata.get(group) if type(metadata) is dict else None
        if type(texts) is not dict or key not in texts:
            continue
        value = texts[key]
        if type(value) is not str:
            raise ConversionError(f"{path_text(path)} must be a text, but is of type {unstructured.type_name(value)}")
        if group == "labels" and (reasons := names.label_value(value)):
            raise ConversionError(f"{path_text(path)} cannot be {value!r}: {'; '.join(reasons)}")


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
