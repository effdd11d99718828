"""Validation of metadata (apimachinery pkg/api/validation/objectmeta.go, meta/v1/validation).

The metadata has the form of objectmeta.coerce. Functions return field errors in the reference's order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import field, names
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting
from apiext.base.meta.gvk import GroupVersionKind, parse_group_version

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

NameRule = Callable[[str, bool], list[str]]
"""Returns the problems of a name; with the flag, of a prefix of a name."""

IMMUTABLE: Final = "field is immutable"
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
FINALIZER_ORPHAN: Final = "orphan"
FINALIZER_FOREGROUND: Final = "foregroundDeletion"
MAX_ANNOTATIONS_SIZE: Final = 256 * 1024
"""Bytes of all keys and values."""
MAX_MANAGER_LENGTH: Final = 128
"""Bytes."""
_MAX_SUBRESOURCE_LENGTH: Final = 256
"""Bytes."""
_MAX_CACHED_LABEL_LENGTH: Final = 128
"""Length of key and value up to which a label's validity is cached."""
_METADATA: Final = field.Path("metadata")
_OPERATIONS: Final = ("Apply", "Update")
_BANNED_OWNER: Final = GroupVersionKind("", "v1", "Event")
_OWNER_ORDER: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def validate(metadata: Object, *, namespaced: bool, name_rule: NameRule, path: Path = _METADATA) -> list[FieldError]:
    """Return the errors of a new object's metadata, which has its generated name (ValidateObjectMeta)."""
    errors: list[FieldError] = []
    prefix = metadata.get("generateName")
    if prefix:
        errors += [field.invalid(path.child("generateName"), prefix, message) for message in name_rule(prefix, True)]  # noqa: FBT003
    name = metadata.get("name")
    if not name:
        errors.append(field.required(path.child("name"), "name or generateName is required"))
    elif problems := name_rule(name, False):  # noqa: FBT003
        errors += [field.invalid(path.child("name"), name, message) for message in problems]
    errors += _namespace(metadata.get("namespace"), namespaced=namespaced, path=path)
    errors += _generation(metadata, path)
    for member, is_fine, rule in _MEMBER_RULES:
        if member in metadata and not is_fine(metadata[member]):
            errors += field.limited(rule(metadata[member], path.child(member)))
    return errors


def validate_update(new: Object, old: Object, *, is_valid: bool = False) -> list[FieldError]:
    """Return the errors of changed metadata (ValidateObjectMetaUpdate). `is_valid`: `validate` found no errors in it."""
    errors: list[FieldError] = []
    if "deletionTimestamp" in old:
        errors += _no_new_finalizers(new.get("finalizers", ()), old.get("finalizers", ()), _METADATA.child("finalizers"))
    if not new.get("resourceVersion"):
        errors.append(field.invalid(_METADATA.child("resourceVersion"), "", "must be specified for an update"))
    errors += _generation(new, _METADATA)
    if new.get("generation", 0) < old.get("generation", 0):
        errors.append(field.invalid(_METADATA.child("generation"), new.get("generation", 0), "must not be decremented"))
    for name, nothing in _IMMUTABLE_FIELDS:
        value = new.get(name, nothing)
        if value != old.get(name, nothing):
            errors.append(field.invalid(_METADATA.child(name), field.typed_text(value) if name == "uid" else value, IMMUTABLE))
    for member, is_fine, rule in () if is_valid else _MEMBER_RULES:
        # Finalizers are not validated again: invalid old ones can still be removed one by one.
        if member in new and member != "finalizers" and not is_fine(new[member]):
            errors += field.limited(rule(new[member], _METADATA.child(member)))
    return errors


_IMMUTABLE_FIELDS: Final = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)


def _namespace(namespace: str | None, *, namespaced: bool, path: Path) -> list[FieldError]:
    if not namespaced:
        return [field.forbidden(path.child("namespace"), "not allowed on this type")] if namespace else []
    if not namespace:
        return [field.required(path.child("namespace"))]
    problems = names.name_is_dns_label(namespace)
    return [field.invalid(path.child("namespace"), namespace, message) for message in problems] if problems else []


def _generation(metadata: Object, path: Path) -> list[FieldError]:
    generation = metadata.get("generation", 0)
    return [field.invalid(path.child("generation"), generation, NOT_NEGATIVE)] if generation < 0 else []


def validate_labels(labels: dict[str, str], path: Path) -> Iterator[FieldError]:
    """Yield the errors of labels: keys are qualified names, values are label values."""
    for key, value in labels.items():
        for message in names.label_key(key):
            yield field.invalid(path, key, message)
        for message in names.label_value(value):
            yield field.invalid(path, value, message)


def _are_labels(labels: dict[str, str]) -> bool:
    """Return whether labels are valid. False also means that only the full check can tell."""
    for key, value in labels.items():  # noqa: SIM110 a generator would double the time
        if len(key) + len(value) > _MAX_CACHED_LABEL_LENGTH or not _is_label(key, value):
            return False
    return True


@lru_cache(maxsize=1024)  # Objects of one kind have the same few labels, and each write checks them twice.
def _is_label(key: str, value: str) -> bool:
    return not names.label_key(key) and not names.label_value(value)


def validate_annotations(annotations: dict[str, str], path: Path) -> Iterator[FieldError]:
    """Yield the errors of annotations: keys are qualified names in any case, the total size is limited."""
    for key in annotations:
        for message in names.label_key(key.lower()):
            yield field.invalid(path, key, message)
    if are_annotations_too_large(annotations):
        yield field.too_long(path, MAX_ANNOTATIONS_SIZE)


def are_annotations_too_large(annotations: dict[str, str]) -> bool:
    """Return whether annotations exceed their total size."""
    return sum(names.size(key) + names.size(value) for key, value in annotations.items()) > MAX_ANNOTATIONS_SIZE


def _owner_references(owners: list[Object], path: Path) -> Iterator[FieldError]:
    controller = ""
    shown: field.Printed | None = None
    for index, owner in enumerate(owners):
        yield from _owner_reference(owner, path.index(index))
        if owner.get("controller"):
            name = f"{owner['kind']}/{owner['name']}"
            if controller:
                detail = f'Only one reference can have Controller set to true. Found "true" in references for {controller} and {name}'
                shown = shown or _as_written(owners)
                yield field.invalid(path, shown, detail)
            else:
                controller = name


def _owner_reference(owner: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version, group, version = owner["apiVersion"], "", ""
    with contextlib.suppress(ValueError):
        group, version = parse_group_version(api_version)
    if not api_version:
        errors.append(field.required(path.child("apiVersion"), "must not be empty"))
    elif not version:
        detail = "must be <group>/<version> or <version>"
        errors.append(field.invalid(path.child("apiVersion"), api_version, detail))
    errors += [field.required(path.child(name), "must not be empty") for name in ("kind", "name", "uid") if not owner[name]]
    kind = GroupVersionKind(group, version, owner["kind"])
    if kind == _BANNED_OWNER:
        detail = f"{group}/{version}, Kind={kind.kind} is disallowed from being an owner"
        errors.append(field.invalid(path, _as_written(owner), detail))
    return errors


def _as_written(owners: Any) -> field.Printed:
    # Messages show bad values as JSON with sorted keys. These are structs of the reference: their fields keep their order.
    ordered = _in_order(owners) if isinstance(owners, dict) else [_in_order(owner) for owner in owners]
    return field.Printed(json_codec.dumps(ordered, sort_keys=False).decode())


def _in_order(owner: Object) -> Object:
    return {name: owner[name] for name in _OWNER_ORDER if name in owner}


def validate_finalizers(finalizers: list[str], path: Path) -> Iterator[FieldError]:
    """Yield the errors of finalizers: names are qualified, orphaning and foreground deletion exclude each other."""
    for name in finalizers:
        for message in names.label_key(name):
            yield field.invalid(path, name, message)
    if FINALIZER_ORPHAN in finalizers and FINALIZER_FOREGROUND in finalizers:
        detail = f"finalizer {FINALIZER_ORPHAN} and {FINALIZER_FOREGROUND} cannot be both set"
        yield field.invalid(path, finalizers, detail)


def _no_new_finalizers(new: list[str], old: list[str], path: Path) -> list[FieldError]:
    extra = sorted(set(new).difference(old))
    if not extra:
        return []
    shown = ", ".join(map(formatting.quote, extra))
    detail = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
    return [field.forbidden(path, detail)]


def _managed_fields(entries: list[Object], path: Path) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        here = path.index(index)
        operation = entry.get("operation", "")
        if not operation:
            yield field.required(here.child("operation"), "must not be empty")
        elif operation not in _OPERATIONS:
            yield field.not_supported(here.child("operation"), field.typed_text(operation), _OPERATIONS)
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            yield field.invalid(here.child("fieldsType"), entry["fieldsType"], "must be `FieldsV1`")
        yield from validate_field_manager(entry.get("manager", ""), here.child("manager"))
        if names.size(entry.get("subresource", "")) > _MAX_SUBRESOURCE_LENGTH:
            yield field.too_long(here.child("subresource"), _MAX_SUBRESOURCE_LENGTH)


def _are_valid_entries(entries: list[Object]) -> bool:
    """Return whether entries of managedFields are valid. False also means that only the full check can tell."""
    return all(map(_is_valid_entry, entries))


def _is_valid_entry(entry: Object) -> bool:
    manager = entry.get("manager", "")
    return (
        entry.get("operation") in _OPERATIONS
        and entry.get("fieldsType", "FieldsV1") == "FieldsV1"
        and len(manager) <= MAX_MANAGER_LENGTH
        and manager.isascii()
        and manager.isprintable()
        and len(entry.get("subresource", "")) * 4 <= _MAX_SUBRESOURCE_LENGTH
    )


def validate_field_manager(manager: str, path: Path) -> Iterator[FieldError]:
    """Yield the errors of a field manager's name: short and printable."""
    if names.size(manager) > MAX_MANAGER_LENGTH:
        yield field.too_long(path, MAX_MANAGER_LENGTH)
    position = 0
    for char in manager if not manager.isprintable() else "":
        if not char.isprintable():
            yield field.invalid(path, manager, f"invalid character U+{ord(char):04X} (at position {position})")
        position += names.size(char)


def _in_doubt(_: object) -> bool:
    return False


_MEMBER_RULES: Final[tuple[tuple[str, Callable[[Any], bool], Callable[[Any, Path], Iterator[FieldError]]], ...]] = (
    ("labels", _are_labels, validate_labels),
    ("annotations", _in_doubt, validate_annotations),
    ("ownerReferences", _in_doubt, _owner_references),
    ("finalizers", _in_doubt, validate_finalizers),
    ("managedFields", _are_valid_entries, _managed_fields),
)
"""Checks of metadata's members: a cheap one that accepts most valid values, and the full one that yields errors."""
