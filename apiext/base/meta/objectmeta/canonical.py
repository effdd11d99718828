"""The canonical form of metadata: the form after a round trip through the reference's typed ObjectMeta.

Mirrors apiextensions-apiserver pkg/apiserver/schema/objectmeta (coerce.go): unknown and empty fields are dropped, times become
whole seconds of UTC, null members of maps and lists become empty. Canonical metadata, the usual case, is only checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import time, unstructured
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import DecodeError, Decoder, Raw
from apiext.base.meta.golang.value_types import Time

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.encoding.json_codec import Object

_MAX_INT64: Final = 2**63
_NO_MEMBERS: Final[Mapping[str, Any]] = {}

OWNER_REFERENCE: Final = struct(
    "OwnerReference",
    "5 apiVersion!, 1 kind!, 3 name!, 4 uid! types.UID, 6 controller *bool, 7 blockOwnerDeletion *bool",
)
MANAGED_FIELDS_ENTRY: Final = struct(
    "ManagedFieldsEntry",
    "1 manager, 2 operation v1.ManagedFieldsOperationType, 3 apiVersion, 4 time *Time, 6 fieldsType,7 fieldsV1 *v1.FieldsV1, 8 subresource",
    Raw("v1.FieldsV1"),
)
OBJECT_META: Final = struct(
    "ObjectMeta",
    "1 name, 2 generateName, 3 namespace, 4 selfLink, 5 uid types.UID, 6 resourceVersion, 7 generation int64,"
    "8 creationTimestamp v1.Time, 9 deletionTimestamp *Time, 10 deletionGracePeriodSeconds *int64,"
    "11 labels map[string]string, 12 annotations map[string]string, 13 ownerReferences []OwnerReference, 14 finalizers []string,"
    "17 managedFields []ManagedFieldsEntry",
    Time(omit_zero=True),
    OWNER_REFERENCE,
    MANAGED_FIELDS_ENTRY,
)


def coerce(
    obj: Object,
    *,
    drop_malformed: bool = False,
    report: bool = False,
    path: object = "metadata",
    known: Mapping[str, Any] = _NO_MEMBERS,
) -> tuple[list[str], bool]:
    """Bring `obj["metadata"]` into its stored form.

    With `drop_malformed`, fields of a wrong type are dropped. With `report`, the first result has the paths of unknown fields,
    below `path`. The second result is whether the metadata changed; then it is a new dict. `known` is as for `is_canonical`.

    Raises:
        DecodeError: a field has the wrong type (without `drop_malformed`), or the metadata is no object; the text is Go's.
    """
    if "metadata" not in obj:
        return [], False
    metadata = obj["metadata"]
    if is_canonical(metadata, known):
        return [], False
    decoded, unknown = _decode(metadata, drop_malformed=drop_malformed, report=report)
    obj["metadata"] = decoded
    return [f"{path}.{name}" for name in unknown], True


def _decode(metadata: Any, *, drop_malformed: bool, report: bool) -> tuple[Object, list[str]]:
    # The reference writes the metadata as JSON with sorted keys and reads it again into its type.
    document = _remarshal(metadata)
    decoder = Decoder(report=report)
    try:
        decoder.run(OBJECT_META, document)
    except DecodeError as error:
        if not drop_malformed:
            raise
        if not isinstance(document, dict):
            raise DecodeError(f"invalid metadata: expected object, got {unstructured.type_name(document)}") from error
        kept = {name: member for name, member in document.items() if _decodes({name: member})}
        return _decode(kept, drop_malformed=False, report=report)
    return OBJECT_META.canonical(document), list(decoder.unknown_paths)


def _decodes(document: Object) -> bool:
    try:
        Decoder(report=False).run(OBJECT_META, document)
    except DecodeError:
        return False
    return True


def _remarshal(value: Any) -> Any:
    """Return a JSON value as after writing and reading it: sorted keys, whole numbers without a fraction."""
    if isinstance(value, dict):
        return {key: _remarshal(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_remarshal(item) for item in value]
    if isinstance(value, float) and value.is_integer() and -_MAX_INT64 <= value < _MAX_INT64:
        return int(value)
    return value


# --- fast path --------------------------------------------------------------------------------------------------------


def is_canonical(metadata: Any, known: Mapping[str, Any] = _NO_MEMBERS) -> bool:
    """Return whether metadata is already in its stored form. Skip members that are the same Python objects in the canonical `known`."""
    if type(metadata) is not dict:
        return False
    try:
        for name, member in metadata.items():
            if known.get(name, _NO_MEMBERS) is not member:
                check = _CHECKS.get(name)
                if check is None or not check(member):
                    return False
    except TypeError:
        # from `_text`
        return False
    return True


_text: Final = str.__len__
"""Return whether a text is not empty. Raises TypeError for anything but a text."""


def _number(member: Any) -> bool:
    return type(member) is int and -_MAX_INT64 <= member < _MAX_INT64


def _nonzero(member: Any) -> bool:
    return _number(member) and member != 0


def _texts(member: Any) -> bool:
    return type(member) is dict and bool(member) and _ONLY_TEXT.issuperset(map(type, member.values()))


def _names(member: Any) -> bool:
    return type(member) is list and bool(member) and _ONLY_TEXT.issuperset(map(type, member))


def _owners(member: Any) -> bool:
    return type(member) is list and bool(member) and all(map(_owner, member))


def _owner(owner: Any) -> bool:
    if type(owner) is not dict:
        return False
    flags = 0
    for name, member in owner.items():
        if name in ("controller", "blockOwnerDeletion"):
            flags += 1
            if type(member) is not bool:
                return False
        elif name not in ("apiVersion", "kind", "name", "uid") or type(member) is not str:
            return False
    return len(owner) - flags == 4


def take_entries(entries: list[Object]) -> None:
    """Accept entries of managedFields from the field manager as canonical, with sets as `fieldsV1`. They must not change."""
    _taken[0] = entries


def _managers(member: Any) -> bool:
    return member is _taken[0] or (type(member) is list and bool(member) and all(map(_manager, member)))


def _manager(entry: Any) -> bool:
    if type(entry) is not dict:
        return False
    for name, member in entry.items():
        if type(member) is str:
            if name not in _ENTRY_TEXTS or not member:
                return False
        elif name != "fieldsV1" or type(member) is not dict:
            return False
    return "time" not in entry or time.is_canonical(entry["time"])


def has_field_sets(metadata: Object) -> bool:
    """Return whether all `fieldsV1` in canonical metadata are sets: objects in objects, as the field manager writes them."""
    entries = metadata.get("managedFields", ())
    return entries is _taken[0] or all(_is_set(entry.get("fieldsV1", _NO_MEMBERS)) for entry in entries)


def _is_set(fields: Mapping[str, Any]) -> bool:
    for below in fields.values():  # noqa: SIM110 a generator would double the time
        if type(below) is not dict or (below and not _is_set(below)):
            return False
    return True


_ONLY_TEXT: Final = frozenset({str})
_taken: Final[list[list[Object]]] = [[]]
"""The entries of the last `take_entries`."""
_ENTRY_TEXTS: Final = frozenset({"manager", "operation", "apiVersion", "time", "fieldsType", "subresource"})
_CHECKS: Final[dict[str, Callable[[Any], object]]] = {
    "name": _text,
    "generateName": _text,
    "namespace": _text,
    "selfLink": _text,
    "uid": _text,
    "resourceVersion": _text,
    "generation": _nonzero,
    "creationTimestamp": time.is_canonical,
    "deletionTimestamp": time.is_canonical,
    "deletionGracePeriodSeconds": _number,
    "labels": _texts,
    "annotations": _texts,
    "ownerReferences": _owners,
    "finalizers": _names,
    "managedFields": _managers,
}
