"""Built-in kinds: the Go type of a kind, the codec of its objects and their rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang.struct_type import Struct
from apiext.base.meta.golang.type_model import Decoder, Map, Pointer, Slice
from apiext.resources.registry.metadata import keep_for_status
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.rest import ResourceRest
from apiext.resources.registry.strategy import Strategy
from apiext.storage.interface import EncodedObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.golang.type_model import GoType
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.resources.registry.request_context import RequestContext
    from apiext.storage.interface import Store

_message_of: Final = cache(kinds.message_of)
_EMPTY_LIST: Final = b":[]"


def _without_empty_lists(go_type: GoType, value: Any) -> Any:
    """Return a canonical value with null for empty lists, which Protobuf does not have: the reference stores built-in kinds in it."""
    if isinstance(go_type, Pointer):
        go_type = go_type.to
    if isinstance(go_type, Struct) and isinstance(value, dict):
        fields = go_type.by_name
        return {name: _without_empty_lists(fields[name].type, item) if name in fields else item for name, item in value.items()}
    if isinstance(go_type, Slice) and isinstance(value, list):
        return [_without_empty_lists(go_type.of, item) for item in value] or None
    if isinstance(go_type, Map) and isinstance(value, dict):
        return {key: _without_empty_lists(go_type.of, item) for key, item in value.items()}
    return value


def metadata_fields(obj: Object) -> dict[str, str]:
    """Return the selectable fields that every object has."""
    metadata = obj["metadata"]
    return {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, kw_only=True)
class TypedCodec:
    """Implements Codec: encodes objects of one Go type as JSON; decodes JSON and the protobuf of kube-apiserver."""

    gvk: GroupVersionKind
    struct: Struct
    selectable: Callable[[Object], dict[str, str]] = metadata_fields
    """Returns the selectable fields of an object."""
    default: Callable[[Object], None] | None = None
    stored_version: str = ""
    """The apiVersion of stored objects, whose form is the same in all versions; empty for the kind's own."""
    cbor: ClassVar[bool] = False
    conversion: ClassVar[None] = None
    remote: ClassVar[None] = None

    def decode_body(self, obj: Object, report: bool) -> list[str]:  # noqa: FBT001
        """Bring a parsed request body into the form of the type, in place; return the strict decoding errors if `report` is set.

        Raises:
            ValueError: a field has the wrong type; the message is the reference's.
        """
        strict = Decoder(report=report).run(self.struct, obj)
        metadata = obj.get("metadata") or {}
        if metadata.get("managedFields") == []:
            # For Go an empty list is not an absent one. An empty list and a single empty entry both reset managedFields.
            metadata["managedFields"] = [{}]
        typed = self._typed(obj)
        obj.clear()
        obj.update(typed)
        return strict

    def decode(self, data: bytes) -> Object:
        """Return a stored object.

        Raises:
            ValueError: the data cannot be decoded.
        """
        if data.startswith(kinds.PREFIX):
            obj = kinds.read(data, _message_of(self.struct))
        else:
            obj = json_codec.loads(data)
            Decoder(report=False).run(self.struct, obj)
        return self._typed(obj) | ({"apiVersion": self.gvk.api_version} if self.stored_version else {})

    def encode(self, obj: Object) -> EncodedObject:
        """Implement Codec.encode."""
        typed = self._typed(obj) | ({"apiVersion": self.stored_version} if self.stored_version else {})
        for name in ("resourceVersion", "selfLink"):
            typed["metadata"].pop(name, None)
        data = json_codec.dumps(typed, sort_keys=False)
        if _EMPTY_LIST in data:
            # few objects have a list that Go writes even when it is empty
            data = json_codec.dumps(_without_empty_lists(self.struct, typed), sort_keys=False)
        return EncodedObject(data + b"\n")

    def recall(self, obj: Object) -> None:
        """Implement Codec.recall: nothing is remembered."""

    def decode_unchanged(self, data: bytes) -> None:
        """Implement Codec.decode_unchanged: unknown."""

    def fields(self, obj: Object) -> dict[str, str]:
        """Return the selectable fields."""
        return self.selectable(obj)

    def _typed(self, obj: Object) -> Object:
        typed: Object = self.struct.canonical(obj)
        if self.default is not None:
            self.default(typed)
        return typed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltinKind:
    """The Go type of a built-in kind, with the rules of its objects."""

    resource: BuiltinResource
    struct: Struct
    strategy: Strategy
    selectable: Callable[[Object], dict[str, str]] = metadata_fields
    """Returns the selectable fields of an object."""
    default: Callable[[Object], None] | None = None
    """Sets the defaults of an object in its canonical form, in place."""
    stored_version: str = ""
    """The apiVersion of stored objects, whose form is the same in all versions; empty for the kind's own."""
    codec_type: type[TypedCodec] = TypedCodec
    rest_type: type[ResourceRest] = ResourceRest

    def codec(self) -> TypedCodec:
        """Return a codec of the kind."""
        return self.codec_type(
            gvk=self.resource.kind,
            struct=self.struct,
            selectable=self.selectable,
            default=self.default,
            stored_version=self.stored_version,
        )

    def rest(self, store: Store) -> ResourceRest:
        """Return the verbs of the kind's objects in a store."""
        return self.rest_type(
            store=store,
            codec=self.codec(),
            strategy=self.strategy,
            resource=self.resource.resource.group_resource,
            namespaced=self.resource.namespaced,
        )


class OwnStatus(Strategy):
    """Keeps the status to its subresource."""

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Drop the status."""
        obj["status"] = {}
        super().prepare_for_create(ctx, obj)

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old status."""
        obj["status"] = old["status"]
        super().prepare_for_update(ctx, obj, old)


class StatusOnly(Strategy):
    """Keeps everything but the status: the strategy of its subresource."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old spec, labels, annotations, owners and finalizers."""
        obj["spec"] = old["spec"]
        keep_for_status(obj["metadata"], old["metadata"])
