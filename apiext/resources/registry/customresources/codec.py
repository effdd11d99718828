"""The codec of custom resources: request bodies, stored bytes, and objects of one version.

Mirrors apiextensions-apiserver pkg/apiserver/customresource_handler.go (unstructuredSchemaCoercer and its codecs): a stored object
is pruned and defaulted by the schema of its own version, converted, and pruned by the schema of the requested version.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.base.meta import errors, unstructured
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.golang import formatting
from apiext.base.meta.gvk import GroupVersionKind, parse_group_version
from apiext.base.meta.objectmeta import canonical
from apiext.base.scheduling.time_slice import paced
from apiext.resources.conversion.interface import ConversionError, UnstorableError
from apiext.storage import stored_object
from apiext.storage.interface import EncodedObject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.scheduling.call_log import CallLog
    from apiext.resources.conversion.interface import Converter
    from apiext.schema.compiled import CompiledSchema
    from apiext.storage.interface import Conversion, RemoteCodec

_KIND: Final = ("kind",)
_NO_MEMBERS: Final[Object] = {}
_API_VERSION: Final = ("apiVersion",)


class _VersionSchemas:
    """The schemas of all versions of a CRD, by apiVersion."""

    __slots__ = ("_by_api_version", "_kind")

    def __init__(self, kind: GroupVersionKind, schemas: Mapping[str, CompiledSchema]) -> None:
        self._kind = kind.kind
        self._by_api_version = {f"{kind.group}/{version}": schema for version, schema in schemas.items()}

    def of(self, obj: Object) -> CompiledSchema | None:
        """Return the schema of an object's own version; None for an object of another group or kind."""
        api_version = obj.get("apiVersion", "")
        schema = self._by_api_version.get(api_version)
        if schema is None:
            parse_group_version(api_version)
            return None
        return schema if obj.get("kind") == self._kind else None

    def is_canonical(self, obj: Object) -> bool:
        """Report whether an object is of a version of the CRD, and pruning and defaulting would not change it."""
        api_version = obj.get("apiVersion")
        schema = self._by_api_version.get(api_version) if type(api_version) is str else None
        return schema is not None and obj.get("kind") == self._kind and schema.is_canonical(obj)

    def is_checked(self, obj: Object) -> bool:
        """Report whether the last valid object had these very members: no check is needed."""
        return self._by_api_version[obj["apiVersion"]].is_checked(obj)

    def recall(self, obj: Object) -> None:
        """See Codec.recall."""
        self._by_api_version[obj["apiVersion"]].recall(obj)

    def coerce(self, obj: Object, *, defaults: bool, drop_malformed: bool, report: bool) -> list[str]:
        """Coerce metadata, prune unknown fields and set `defaults`, in place. With `report`, return the paths of the unknown fields.

        Raises:
            ValueError: kind, apiVersion or metadata have the wrong type.
        """
        api_version = obj.get("apiVersion", "")
        schema = self._by_api_version.get(api_version) if type(api_version) is str else None
        if schema is not None and obj.get("kind") == self._kind:
            return schema.coerce(obj, defaults=defaults, drop_invalid=drop_malformed, report=report)
        if type(obj.get("kind", "")) is not str:
            unstructured.get_string(obj, _KIND)
        if type(api_version) is not str:
            unstructured.get_string(obj, _API_VERSION)
        if schema is None:
            # raises ValueError for a malformed one
            parse_group_version(api_version)
        return canonical.coerce(obj, drop_malformed=drop_malformed, report=report)[0]

    def coerce_converted(self, obj: Object, *, is_pruned: bool, metadata: Object = _NO_MEMBERS) -> None:
        """Coerce metadata and prune unknown fields, in place. Raises as `coerce`.

        What is the same in the canonical `metadata` is not checked again.
        """
        schema = self._by_api_version.get(obj["apiVersion"]) if is_pruned else None
        if schema is not None and obj.get("kind") == self._kind:
            schema.coerce_pruned(obj, metadata)
        else:
            self.coerce(obj, defaults=False, drop_malformed=False, report=False)

    def check_version(self, obj: Object, api_version: str) -> None:
        """Raise ValueError if the CRD does not have the version of an object that is to be converted."""
        source = obj.get("apiVersion", "")
        if source in self._by_api_version:
            return
        group, _, version = source.rpartition("/")
        if group != api_version.rpartition("/")[0]:
            kind = f"{group}/{version}, Kind={obj.get('kind', '')}"
            raise ValueError(f"{kind} is unstructured and is not suitable for converting to {formatting.quote(api_version)}")
        raise ValueError(f"request to convert CR from an invalid group/version: {source}")


class _AwaitedConversion:
    """Implements Conversion with a converter that has to be awaited."""

    def __init__(self, converter: Converter, schemas: _VersionSchemas, api_version: str, storage_api_version: str) -> None:
        self._converter = converter
        self._prunes = converter.prunes
        self._schemas = schemas
        self._api_version = api_version
        self._storage_api_version = storage_api_version

    async def from_storage(self, objects: Sequence[Object], log: CallLog | None = None) -> Sequence[Object | ValueError]:
        """Implement Conversion.from_storage."""
        return await self._convert(objects, self._api_version, log)

    async def to_storage(self, obj: Object) -> Object:
        """Implement Conversion.to_storage."""
        if obj.get("apiVersion") == self._storage_api_version:
            return obj
        (converted,) = await self._convert([json_values.copy(obj)], self._storage_api_version)
        if isinstance(converted, UnstorableError):
            raise errors.bad_request(str(converted)) from converted
        if isinstance(converted, ValueError):
            raise errors.unknown(str(converted)) from converted
        return converted

    async def _convert(self, objects: Sequence[Object], api_version: str, log: CallLog | None = None) -> Sequence[Object | ValueError]:
        """Return the objects, or the errors of those that cannot be converted; converters do not see resourceVersion."""
        result: list[Object | ValueError] = list(objects)
        sent: list[tuple[int, Object, str | None]] = []
        for place, obj in enumerate(objects):
            if obj.get("apiVersion") == api_version:
                continue
            try:
                self._schemas.check_version(obj, api_version)
            except ValueError as error:
                result[place] = error
            else:
                sent.append((place, obj, obj.get("metadata", {}).pop("resourceVersion", None)))
        if sent:
            converted = await self._converter.convert([obj for _, obj, _ in sent], api_version, log)
            async for (place, _, revision), found in paced(zip(sent, converted, strict=True)):
                result[place] = found if isinstance(found, ValueError) else self._coerced(found, revision)
        return result

    def _coerced(self, obj: Object, revision: str | None) -> Object | ValueError:
        try:
            self._schemas.coerce_converted(obj, is_pruned=self._prunes)
        except ValueError as error:
            return error
        if revision is not None:
            obj["metadata"]["resourceVersion"] = revision
        return obj


class CustomResourceCodec:
    """Implements Codec for one served version of a CRD."""

    __slots__ = (
        "__weakref__",
        "_api_version",
        "_converter",
        "_head",
        "_namespaced",
        "_schemas",
        "_selectable",
        "_storage_api_version",
        "cbor",
        "conversion",
        "gvk",
        "remote",
    )

    conversion: Conversion | None
    """The awaited conversion; None where versions are converted inline, or where there is only one."""

    def __init__(
        self,
        *,
        kind: GroupVersionKind,
        storage_version: str,
        schemas: Mapping[str, CompiledSchema],
        converter: Converter,
        namespaced: bool,
        selectable_fields: Sequence[str] = (),
        cbor: bool = False,
        remote: RemoteCodec | None = None,
    ) -> None:
        """Create the codec. `schemas` holds the schema of each version by name; `selectable_fields` are JSON paths of the CRD.

        Objects are stored in CBOR if `cbor` is set; both encodings are read. `remote` is the codec's copy in worker processes.
        """
        self.cbor = cbor
        self.gvk = kind
        self._api_version = kind.api_version
        self._head = b'{"apiVersion":"%b","kind":"%b","metadata":{' % (kind.api_version.encode(), kind.kind.encode())
        self._storage_api_version = f"{kind.group}/{storage_version}"
        self._schemas = _VersionSchemas(kind, schemas)
        self._converter = converter if converter.is_inline else None
        self.conversion = None
        self.remote = remote
        if self._converter is None and len(schemas) > 1:
            self.conversion = _AwaitedConversion(converter, self._schemas, self._api_version, self._storage_api_version)
        self._namespaced = namespaced
        self._selectable = tuple((path.removeprefix("."), tuple(path.removeprefix(".").split("."))) for path in selectable_fields)

    def decode_body(self, obj: Object, report: bool) -> list[str]:  # noqa: FBT001
        """Prune and default a parsed request body, in place. With `report`, return the strict decoding errors.

        Raises:
            ValueError: the body is no object with a kind; the message is the reference's.
        """
        unknown = self._schemas.coerce(obj, defaults=True, drop_malformed=False, report=report)
        if report and obj.get("apiVersion") != self._api_version and self._schemas.of(obj) is None and self._is_of_kind(obj):
            # a version without a schema has no fields of its own
            unknown = sorted([*unknown, *(obj.keys() - _ROOT_FIELDS)])
        return [f'unknown field "{path}"' for path in unknown] if unknown else unknown

    def _is_of_kind(self, obj: Object) -> bool:
        """Return whether an object is of some version of the codec's kind."""
        return obj.get("kind") == self.gvk.kind and parse_group_version(obj.get("apiVersion", ""))[0] == self.gvk.group

    def complete(self, obj: Object) -> Object:
        """Return an object of this codec's version with canonical metadata and defaults. It may share members with `obj`."""
        if self._schemas.is_canonical(obj):
            return obj
        completed: Object = json_values.copy(obj)
        canonical.coerce(completed, drop_malformed=True)
        schema = self._schemas.of(completed)
        if schema is not None:
            schema.default(completed)
        return completed

    def decode(self, data: bytes) -> Object:
        """Implement Codec.decode.

        Raises:
            ValueError: the data is invalid, or of a version that the CRD does not have.
        """
        obj = stored_object.loads(data)
        if not isinstance(obj, dict):
            raise ValueError(_not_an_object(obj))  # noqa: TRY004
        # most stored objects are unchanged, and this check is faster than the work
        if not self._is_unchanged(obj):
            self._complete_stored(obj, data)
        if self.conversion is None:
            return obj if obj.get("apiVersion") == self._api_version else self._convert(obj, self._api_version, obj.get("metadata"))
        self._schemas.check_version(obj, self._api_version)
        return obj

    def decode_unchanged(self, data: bytes) -> Object | None:
        """Implement Codec.decode_unchanged."""
        if not data.startswith(self._head):
            return None
        try:
            obj: Object = json_codec.loads(data)
        except ValueError:
            return None
        return obj if self._is_unchanged(obj) else None

    def _is_unchanged(self, obj: Object) -> bool:
        """Report whether decoding leaves a stored object unchanged."""
        return self._schemas.is_canonical(obj) and bool(obj["metadata"].get("generation"))

    def _complete_stored(self, obj: Object, data: bytes) -> None:
        """Prune and default a stored object in place, by the schema of its own version. Raises the errors of `decode`."""
        self._schemas.coerce(obj, defaults=True, drop_malformed=True, report=False)
        schema = self._schemas.of(obj)
        if schema is None and not obj.get("kind"):
            raise ValueError(f"Object 'Kind' is missing in '{data.decode(errors='replace')}'")
        if schema is not None and not obj.get("metadata", _HAS_GENERATION).get("generation"):
            obj["metadata"]["generation"] = 1

    def encode(self, obj: Object) -> EncodedObject:
        """Implement Codec.encode.

        Raises:
            ValueError: the object is of no version of the CRD.
            StatusError: the object cannot be written as JSON, or cannot be converted to the storage version.
        """
        stored = obj.copy()
        if obj.get("apiVersion") != self._storage_api_version:
            stored = self._to_storage(obj)
        metadata = stored.get("metadata", {}).copy()
        metadata.pop("resourceVersion", None)
        metadata.pop("selfLink", None)
        # uid follows resourceVersion in sorted metadata, and `decode` would add a missing generation
        reads_back = self._api_version == self._storage_api_version and "uid" in metadata and metadata.get("generation")
        stored["metadata"] = metadata
        cbor = stored_object.cbor(stored) if self.cbor else b""
        typed = self.cbor
        if reads_back and self._schemas.is_canonical(obj):
            metadata["resourceVersion"] = _REVISION_MARK
            # without a float, both forms are the same
            typed = typed or canonical.has_field_sets(metadata)
        try:
            data = json_codec.dumps(stored, typed=typed) + b"\n"
        except orjson.JSONEncodeError as error:
            raise errors.bad_request(f"the object cannot be written as JSON: {error}") from error
        marked = data.find(_MARK_BYTES)
        if marked < 0:
            return EncodedObject(data, cbor=cbor, is_converted=self._api_version != self._storage_api_version)
        place = marked - len(_BEFORE_MARK)
        data = data[:place] + data[marked + len(_MARK_BYTES) + len(_AFTER_MARK) :]
        return EncodedObject(data, place, cbor, is_checked=self._schemas.is_checked(obj))

    def recall(self, obj: Object) -> None:
        """Implement Codec.recall."""
        self._schemas.recall(obj)

    def fields(self, obj: Object) -> dict[str, str]:
        """Return metadata.name, metadata.namespace if namespaced, and the CRD's selectable fields."""
        metadata = obj.get("metadata", {})
        fields = {"metadata.name": metadata.get("name", "")}
        if self._namespaced:
            fields["metadata.namespace"] = metadata.get("namespace", "")
        for name, path in self._selectable:
            fields[name] = _selected(obj, path)
        return fields

    def _to_storage(self, obj: Object) -> Object:
        try:
            return self._convert(json_values.copy(obj), self._storage_api_version)
        except UnstorableError as error:
            raise errors.bad_request(str(error)) from error
        except ConversionError as error:
            raise errors.unknown(str(error)) from error

    def _convert(self, obj: Object, api_version: str, metadata: Object | None = None) -> Object:
        """Convert and prune an object in place. Its metadata is canonical if it is given, too."""
        self._schemas.check_version(obj, api_version)
        if self._converter is None:
            raise AssertionError("an object that has to be converted first")
        converted = self._converter.convert_inline(obj, api_version)
        self._schemas.coerce_converted(converted, is_pruned=self._converter.prunes, metadata=metadata or _NO_MEMBERS)
        return converted


def _not_an_object(value: Any) -> str:
    """Return the reference's error for a stored JSON value that is no object."""
    if value is None:
        return "Object 'Kind' is missing in 'null'"
    name = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    return f"json: cannot unmarshal {name} into Go value of type map[string]interface {{}}"


_ROOT_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
_HAS_GENERATION: Final = {"generation": 1}
_REVISION_MARK: Final = f"{secrets.randbits(96):096b}"
"""Stands for the resourceVersion while an object is encoded. Random: no text of an object contains it.

It has two characters only: at any other character the search skips its whole length.
"""
_MARK_BYTES: Final = _REVISION_MARK.encode()
_BEFORE_MARK: Final = b'"resourceVersion":"'
_AFTER_MARK: Final = b'",'


def _selected(obj: Object, path: tuple[str, ...]) -> str:
    value: Any = obj
    for name in path:
        if type(value) is not dict:
            return ""
        value = value.get(name)
    if value is None:
        return ""
    return value if type(value) is str else unstructured.go_string(value)
