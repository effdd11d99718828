"""The row of a built-in kind: how the server presents it to clients, and the endpoint made from that."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from apiext.api.admission.object_interfaces import EquivalentResource
from apiext.api.endpoints.handlers.strategic_merge import OBJECT_META_KEYS
from apiext.api.endpoints.parameters.options import FieldLabel, meta_field_label
from apiext.api.endpoints.responsewriters.table import TableConvertor
from apiext.api.endpoints.scopes.dialect import BUILTIN_PATCHES, Dialect
from apiext.api.endpoints.scopes.scope import BodyCodec, Scope
from apiext.api.endpoints.serializers.negotiation import BUILTIN_OFFERS, Offers
from apiext.api.serving.admitted.builtin_objects import EquivalentType, ObjectType, TypedObjects
from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
from apiext.base.meta.encoding import json_values
from apiext.resources.managedfields.field_manager import FieldManager
from apiext.resources.managedfields.field_set import from_paths
from apiext.resources.managedfields.go_merge_types import from_go_type
from apiext.resources.managedfields.versions import BuiltinVersions
from apiext.resources.registry.protobuf.kinds import Message, message_of

if TYPE_CHECKING:
    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.managedfields.merge_types import MergeType
    from apiext.resources.registry.builtin.kind import BuiltinKind
    from apiext.resources.registry.rest import ResourceRest
    from apiext.resources.registry.strategy import Strategy
    from apiext.storage.interface import Store

WITH_CONDITIONS: Final = {**OBJECT_META_KEYS, "status.conditions": "type"}
"""Merge keys of kinds whose conditions merge by type."""


_Convert = Callable[["Object"], "Object"]
Equivalent = tuple["ServedKind", _Convert, _Convert]
"""A kind that serves the objects of another one, with the conversions to it and back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSubresource:
    """A subresource with the whole object as its body."""

    strategy: Strategy | None = None
    """None for that of the kind."""
    reset: Sequence[str] | None = ("metadata", "spec")
    """Members that writes leave as they are; None for those of the kind."""
    offers: Offers = BUILTIN_OFFERS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServedKind:
    """What clients see of a built-in kind."""

    kind: BuiltinKind
    table: TableConvertor
    field_label: FieldLabel = meta_field_label
    strategic_keys: Mapping[str, str] = dataclasses.field(default_factory=lambda: OBJECT_META_KEYS)
    """As in Dialect, like the members below."""
    creates_on_update: bool = False
    pins_deleted: bool = False
    returns_deleted: bool = False
    null_rows: bool = False
    other_versions: Sequence[str] = ()
    message: Message | None = None
    """The Protobuf message, if the struct does not give it."""
    merge_type: MergeType | None = None
    """The merge type, if the struct does not give it."""
    subresources: Mapping[str, ServedSubresource] = dataclasses.field(default_factory=dict)
    equivalents: Callable[[], Sequence[Equivalent]] = tuple
    """Returns the kinds that serve the same objects."""

    def endpoint(self, store: Store, admission: Admission, watches: Watches) -> BuiltinEndpoint:
        """Return the endpoint of the objects in a store."""
        return self.endpoint_over(self.kind.rest(store), admission, watches)

    def endpoint_over(self, rest: ResourceRest, admission: Admission, watches: Watches) -> BuiltinEndpoint:
        """Return the endpoint of the objects with these verbs."""
        main = self._main(rest, admission, watches)
        scopes = {"": main}
        for name, subresource in self.subresources.items():
            own = rest if subresource.strategy is None else dataclasses.replace(rest, strategy=subresource.strategy)
            fields = main.fields if subresource.reset is None else self.fields(main.codec, subresource.reset, name)
            dialect = dataclasses.replace(main.dialect, offers=subresource.offers)
            scopes[name] = dataclasses.replace(main, subresource=name, rest=own, dialect=dialect, fields=fields)
        return BuiltinEndpoint(self.kind.resource, scopes)

    def _main(self, rest: ResourceRest, admission: Admission, watches: Watches) -> Scope:
        resource, codec = self.kind.resource, cast("BodyCodec", rest.codec)
        return Scope(
            kind=resource.kind,
            resource=resource.resource,
            rest=rest,
            codec=codec,
            fields=self.fields(codec, ("status",) if resource.subresource("status") is not None else ()),
            admission=admission,
            watches=watches,
            objects=self._objects(codec),
            dialect=self._dialect(),
        )

    def _dialect(self) -> Dialect:
        return Dialect(
            list_kind=self.kind.resource.list_kind,
            table=self.table,
            field_label=self.field_label,
            typed=True,
            other_versions=self.other_versions,
            message=self.message or message_of(self.kind.struct),
            package=self.kind.resource.kind.group.partition(".")[0] or "core",
            null_rows=self.null_rows,
            patch_types=BUILTIN_PATCHES,
            offers=BUILTIN_OFFERS,
            creates_on_update=self.creates_on_update,
            pins_deleted=self.pins_deleted,
            returns_deleted=self.returns_deleted,
            strategic_keys=self.strategic_keys,
        )

    def _objects(self, codec: BodyCodec) -> TypedObjects:
        others = self.equivalents()
        resources = tuple(EquivalentResource(other.kind.resource.resource, other.kind.resource.kind) for other, _, _ in others)
        types = [EquivalentType(other.object_type(other.kind.codec()), there, back) for other, there, back in others]
        return TypedObjects(self.object_type(codec), resources, types)

    def object_type(self, codec: BodyCodec) -> ObjectType:
        """Return the type of the kind's objects."""
        return ObjectType(self.kind.resource.kind, codec, self._merge_type)

    def _merge_type(self) -> MergeType:
        return self.merge_type or from_go_type(self.kind.struct)

    def fields(self, codec: BodyCodec, reset: Sequence[str], subresource: str = "") -> FieldManager:
        """Return a field manager of the kind. Its strategy resets the fields `reset`."""
        kind, struct = self.kind.resource.kind, self.kind.struct

        def empty() -> Object:
            obj: Object = struct.canonical({})
            return obj | {"apiVersion": kind.api_version, "kind": kind.kind}

        def complete(obj: Object) -> Object:
            completed: Object = json_values.copy(obj)
            try:
                codec.decode_body(completed, False)  # noqa: FBT003
            except ValueError as error:
                raise ValueError(f"unable to convert unstructured object to {kind.api_version}, Kind={kind.kind}: {error}") from error
            return completed

        fields = {kind.api_version: from_paths(*(tuple(f"f:{step}" for step in path.split(".")) for path in reset))} if reset else {}
        return FieldManager(kind, BuiltinVersions(self._merge_type(), empty, complete), fields, subresource=subresource)
