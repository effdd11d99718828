"""Labels and annotations that rules set: they must be valid, whatever field they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.base.meta import names, unstructured
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.paths import path_text
from apiext.resources.conversion.rules.rule_paths import named_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.model import FieldSteps, Rule


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
