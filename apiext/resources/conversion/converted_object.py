"""Checks of a converted object, and its metadata: a webhook may change labels and annotations only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import unstructured
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.field import Path, aggregate
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.limits import MAX_DEPTH
from apiext.base.meta.objectmeta.validation import validate_annotations, validate_labels
from apiext.resources.conversion.interface import ConversionError

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_SAME: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
"""Members of metadata that a webhook must not change, with their names in errors."""
_LABELS: Final = Path("metadata", "labels")
_ANNOTATIONS: Final = Path("metadata", "annotation")
"""Types as the reference names them."""


def check_converted(original: Object, converted: Any, api_version: str) -> Object:
    """Return a converted object with its own labels and annotations and otherwise the original's metadata. It may share members.

    Raises:
        ConversionError: it is not the same object in the named version. The text follows the reference's prefix.
    """
    wrong = f"conversion webhook for {group_version_kind(original)} returned invalid"
    obj = _object(converted)
    if _version_of(obj) != api_version:
        raise ConversionError(f"{wrong} object at index 0: invalid groupVersion (expected {api_version}, received {_version_of(obj)})")
    if obj.get("kind") != original.get("kind"):
        raise ConversionError(f"{wrong} object at index 0: invalid kind (expected {original.get('kind')}, received {obj.get('kind')})")
    for member, name in _SAME:
        expected, found = _text(original, member), _text(obj, member)
        if expected != found:
            raise ConversionError(f"{wrong} object: must have the same {name}: {expected} != {found}")
    try:
        obj["metadata"] = _restored(original, obj)
    except ValueError as error:
        raise ConversionError(f"{wrong} metadata: {error}") from error
    return obj


def group_version_kind(obj: Object) -> str:
    """Return apiVersion and kind as errors name them."""
    return f"{obj.get('apiVersion')}, Kind={obj.get('kind')}"


def _object(value: Any) -> Object:
    """Return a member of convertedObjects as an object with a kind."""
    if value is None:
        raise ConversionError("unexpected end of JSON input")
    if not isinstance(value, dict):
        kind = {str: "string", bool: "bool", list: "array"}.get(type(value), "number")
        raise ConversionError(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    if json_values.is_deeper(value, MAX_DEPTH):
        raise ConversionError(f"a converted object must not be nested deeper than {MAX_DEPTH} levels")
    # the reference sees no kind where it cannot parse apiVersion
    if not _string(value.get("kind")) or _version_of(value) is None:
        raise ConversionError(f"Object 'Kind' is missing in '{json_codec.dumps(value, sort_keys=False).decode()}'")
    return value


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _version_of(obj: Object) -> str | None:
    """Return an object's apiVersion, None for a malformed one."""
    api_version = _string(obj.get("apiVersion"))
    try:
        parse_group_version(api_version)
    except ValueError:
        return None
    return api_version


def _text(obj: Object, member: str) -> str:
    metadata = obj.get("metadata")
    return _string(metadata.get(member)) if isinstance(metadata, dict) else ""


def _restored(original: Object, converted: Object) -> Object:
    """Return the metadata of a converted object. Raises ValueError for an invalid one."""
    if "metadata" not in converted:
        raise ValueError("missing metadata in converted object")
    returned = converted["metadata"]
    if not isinstance(returned, dict):
        raise ValueError(f"invalid metadata of type {unstructured.type_name(returned)} in converted object")  # noqa: TRY004
    metadata: Object = dict(original.get("metadata", {}))
    for name in ("labels", "annotations"):
        found = returned.get(name)
        if found is None:
            metadata.pop(name, None)
            continue
        if not isinstance(found, dict):
            raise ValueError(f"invalid metadata.{name} of type {unstructured.type_name(found)} in converted object")  # noqa: TRY004
        _check_texts(name, found, metadata.get(name) or {})
        metadata[name] = found
    return metadata


def _check_texts(name: str, texts: dict[str, Any], before: dict[str, str]) -> None:
    """Check labels or annotations that the webhook changed. Raises ValueError."""
    for key, text in texts.items():
        if not isinstance(text, str):
            raise ValueError(f"metadata.{name}[{key}] must be a string, but is {unstructured.type_name(text)} in converted object")  # noqa: TRY004
    if texts == before:
        return
    errors = validate_labels(texts, _LABELS) if name == "labels" else validate_annotations(texts, _ANNOTATIONS)
    found = list(errors)
    if found:
        raise ValueError(aggregate(found))
