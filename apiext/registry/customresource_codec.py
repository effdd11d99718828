"""Custom resources between request bodies, stored bytes and objects of one version.

Mirrors apiextensions-apiserver pkg/apiserver/customresource_handler.go (unstructuredSchemaCoercer and the codecs around it): what is
stored is pruned and defaulted by the schema of the version it was stored in, converted, and pruned by that of the version asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from apiext.meta import errors, json_codec, objectmeta, unstructured
from apiext.meta.gvk import GroupVersionKind, parse_group_version
from apiext.meta.patch import deep_copy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.conversion.interface import Converter
    from apiext.meta.json_codec import Object

_KIND: Final = ("kind",)
_API_VERSION: Final = ("apiVersion",)


class ObjectShape(Protocol):
    """What a codec asks of the compiled schema of one version; everything happens in place."""

    def coerce(self, obj: Object, *, drop_invalid: bool = False, report: bool = False) -> list[str]:
        """Metadata in shape, unknown fields dropped, their paths if asked for. Raises ValueError in the reference's words."""
        ...

    def default(self, obj: Object) -> None:
        """Fill in defaults."""
        ...

    def is_settled(self, obj: Object) -> bool:
        """Whether writing an object, reading it again, `coerce` and `default` would leave it as it is; False when in doubt."""
        ...


class CustomResourceCodec:
    """The codec of one served version of a CRD."""

    __slots__ = (
        "__weakref__",
        "_api_version",
        "_converter",
        "_gvk",
        "_namespaced",
        "_selectable",
        "_shapes",
        "_storage_api_version",
    )

    def __init__(
        self,
        *,
        kind: GroupVersionKind,
        storage_version: str,
        shapes: Mapping[str, ObjectShape],
        converter: Converter,
        namespaced: bool,
        selectable_fields: Sequence[str] = (),
    ) -> None:
        """`shapes` holds the schema of every version of the CRD, by name; `selectable_fields` are its JSON paths."""
        self._gvk = kind
        self._api_version = kind.api_version
        self._storage_api_version = f"{kind.group}/{storage_version}"
        self._shapes = {f"{kind.group}/{version}": shape for version, shape in shapes.items()}
        self._converter = converter
        self._namespaced = namespaced
        self._selectable = tuple((path.removeprefix("."), tuple(path.removeprefix(".").split("."))) for path in selectable_fields)

    @property
    def gvk(self) -> GroupVersionKind:
        """Group, version and kind of the objects."""
        return self._gvk

    def decode_body(self, obj: Object, report: bool) -> list[str]:  # noqa: FBT001
        """Prune and default a parsed request body, in place; what strict decoding would refuse, if asked for.

        Raises:
            ValueError: it is no object of any kind; the text is that of the reference's decoder.
        """
        if self._is_settled(obj):
            return []
        unknown = self._coerce(obj, drop_malformed=False, report=report)
        shape = self._shape_of(obj)
        if shape is not None:
            shape.default(obj)
        elif report and obj.get("kind") == self._gvk.kind and parse_group_version(obj.get("apiVersion", ""))[0] == self._gvk.group:
            # A version without a schema knows no fields.
            unknown = sorted([*unknown, *(obj.keys() - _ROOT_FIELDS)])
        return [f'unknown field "{path}"' for path in unknown]

    def decode(self, data: bytes) -> Object:
        """A stored object in this codec's version.

        Raises:
            ValueError: it cannot be understood, or is of a version that the CRD does not have.
        """
        obj = json_codec.loads(data)
        if not isinstance(obj, dict):
            msg = f"a stored object is {unstructured.type_name(obj)}"
            raise ValueError(msg)  # noqa: TRY004
        self._coerce(obj, drop_malformed=True, report=False)
        shape = self._shape_of(obj)
        if shape is None and not obj.get("kind"):
            msg = f"Object 'Kind' is missing in '{data.decode(errors='replace')}'"
            raise ValueError(msg)
        if shape is not None:
            if not obj.get("metadata", _HAS_GENERATION).get("generation"):
                obj["metadata"]["generation"] = 1
            shape.default(obj)
        return obj if obj.get("apiVersion") == self._api_version else self._convert(obj, self._api_version)

    def encode(self, obj: Object) -> bytes:
        """The bytes to store. Raises StatusError for what cannot be written as JSON, such as an object nested too deeply."""
        if obj.get("apiVersion") == self._storage_api_version:
            stored = dict(obj)
        else:
            stored = self._convert(deep_copy(obj), self._storage_api_version)
        metadata = dict(stored.get("metadata", {}))
        metadata.pop("resourceVersion", None)
        metadata.pop("selfLink", None)
        stored["metadata"] = metadata
        try:
            return json_codec.dumps(stored) + b"\n"
        except orjson.JSONEncodeError as error:
            raise errors.bad_request(f"the object cannot be written as JSON: {error}") from error

    def reread(self, obj: Object, data: bytes) -> Object:
        """As `decode`: without parsing, where the object shows that it would be the same again."""
        metadata = obj.get("metadata", _NO_METADATA)
        stays = obj.get("apiVersion") == self._api_version == self._storage_api_version
        if not stays or not metadata.get("generation") or not self._is_settled(obj):
            return self.decode(data)
        return {**obj, "metadata": {name: member for name, member in metadata.items() if name != "selfLink"}}

    def fields(self, obj: Object) -> dict[str, str]:
        """metadata.name, metadata.namespace of what has one, and the CRD's selectable fields."""
        metadata = obj.get("metadata", {})
        fields = {"metadata.name": metadata.get("name", "")}
        if self._namespaced:
            fields["metadata.namespace"] = metadata.get("namespace", "")
        for name, path in self._selectable:
            fields[name] = _selected(obj, path)
        return fields

    def _is_settled(self, obj: Object) -> bool:
        """Whether an object is of a version of the CRD, and in shape already."""
        api_version = obj.get("apiVersion")
        shape = self._shapes.get(api_version) if type(api_version) is str else None
        return shape is not None and obj.get("kind") == self._gvk.kind and shape.is_settled(obj)

    def _convert(self, obj: Object, api_version: str) -> Object:
        source = obj.get("apiVersion", "")
        if source not in self._shapes:
            msg = f"request to convert CR from an invalid group/version: {source}"
            raise ValueError(msg)
        converted = self._converter.convert(obj, api_version)
        self._coerce(converted, drop_malformed=False, report=False)
        return converted

    def _coerce(self, obj: Object, *, drop_malformed: bool, report: bool) -> list[str]:
        if type(obj.get("kind", "")) is not str:
            unstructured.get_string(obj, _KIND)
        if type(obj.get("apiVersion", "")) is not str:
            unstructured.get_string(obj, _API_VERSION)
        shape = self._shape_of(obj)
        if shape is not None:
            return shape.coerce(obj, drop_invalid=drop_malformed, report=report)
        return objectmeta.coerce(obj, drop_malformed=drop_malformed, report=report)[0]

    def _shape_of(self, obj: Object) -> ObjectShape | None:
        """The schema of an object's own version; None for what is of another group or kind."""
        api_version = obj.get("apiVersion", "")
        shape = self._shapes.get(api_version)
        if shape is None:
            parse_group_version(api_version)
            return None
        return shape if obj.get("kind") == self._gvk.kind else None


_ROOT_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
_HAS_GENERATION: Final = {"generation": 1}
_NO_METADATA: Final[Mapping[str, object]] = {}


def _selected(obj: Object, path: tuple[str, ...]) -> str:
    value: Any = obj
    for name in path:
        if type(value) is not dict:
            return ""
        value = value.get(name)
    if value is None:
        return ""
    return value if type(value) is str else unstructured.printed(value)
