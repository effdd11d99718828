"""Checks the metadata of a custom resource that a plug-in has changed.

Mirrors the conversion of unstructured metadata in apimachinery pkg/runtime/converter.go, whose errors the validation reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.meta import errors, field
from apiext.meta.encoding import json_values
from apiext.meta.golang.type_model import Decoder, TypeMismatchError
from apiext.meta.objectmeta.canonical import OBJECT_META, is_canonical

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.gvk import GroupKind

_KINDS: Final = {"number": "int64", "object": "map", "array": "slice"}
"""Go's kinds of values with other names in JSON."""


def check_patched(obj: Object, kind: GroupKind) -> None:
    """Check that the fields of an object's metadata have their types.

    Raises:
        StatusError: 422 for a field of another type.
    """
    metadata = obj.get("metadata")
    if type(metadata) is not dict or is_canonical(metadata):
        return
    try:
        Decoder(report=False).run(OBJECT_META, json_values.copy(metadata))
    except TypeMismatchError as error:
        problem = field.invalid("metadata", metadata, _text(error))
        raise errors.invalid(kind, str(metadata.get("name") or ""), [problem]) from error
    except ValueError:
        # malformed times are dropped
        return


def _text(error: TypeMismatchError) -> str:
    value: Any = _KINDS.get(error.value, error.value)
    if error.type_name.startswith("[]"):
        return f"cannot restore slice from {value}"
    if error.type_name.startswith("map["):
        return f"cannot restore map from {value}"
    return f"cannot convert {value} to {error.type_name}"
