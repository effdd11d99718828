"""ObjectInterfaces of endpoints with Go types: built-in kinds and scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.api.admission.object_interfaces import UnpatchableError
from apiext.api.endpoints.handlers.body import strict_text, unregistered_kind
from apiext.api.serving.admitted.structured_merge import merge_configuration
from apiext.base.meta.encoding import json_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.api.admission.object_interfaces import EquivalentResource
    from apiext.api.endpoints.scopes.scope import BodyCodec
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.resources.managedfields.merge_types import MergeType


@dataclass(frozen=True, slots=True, eq=False)
class ObjectType:
    """The Go type of a kind."""

    kind: GroupVersionKind
    codec: BodyCodec
    merge_type: Callable[[], MergeType] | None
    """None if policies of the reference have no type for apply configurations, as for scales."""

    def is_of(self, obj: Object) -> bool:
        """Return whether an object has the kind."""
        return obj.get("apiVersion") == self.kind.api_version and obj.get("kind") == self.kind.kind


@dataclass(frozen=True, slots=True, eq=False)
class EquivalentType:
    """A type with the same objects in another form. The conversions leave their argument as it is."""

    type: ObjectType
    there: Callable[[Object], Object]
    """Converts an object of the endpoint's kind to this type."""
    back: Callable[[Object], Object]


@dataclass(frozen=True, slots=True, eq=False)
class TypedObjects:
    """Implements ObjectInterfaces for objects of one kind, and of equivalent ones."""

    own: ObjectType
    resources: Sequence[EquivalentResource] = ()
    """The equivalent resources."""
    others: Sequence[EquivalentType] = ()
    of_custom_resource: bool = False
    """Whether the objects are scales of a custom resource, which webhooks may change, but policies may not (apiextensions-apiserver
    pkg/apiserver/conversion/converter.go)."""

    def equivalents(self) -> Sequence[EquivalentResource]:
        """Implement ObjectInterfaces.equivalents."""
        return self.resources

    async def convert(self, obj: Object, kind: GroupVersionKind) -> Object:
        """Implement ObjectInterfaces.convert."""
        if obj.get("apiVersion") == kind.api_version and obj.get("kind") == kind.kind:
            return obj
        for other in self.others:
            if other.type.kind == kind and self.own.is_of(obj):
                return other.there(obj)
            if other.type.is_of(obj) and self.own.kind == kind:
                return other.back(obj)
        raise unregistered_kind(str(obj.get("kind") or ""), str(obj.get("apiVersion") or ""))

    def _type_of(self, obj: Object) -> ObjectType:
        """Return the type of an object, the endpoint's own by default."""
        return next((other.type for other in self.others if other.type.is_of(obj)), self.own)

    async def complete(self, obj: Object, *, strict: bool = False) -> Object:
        """Implement ObjectInterfaces.complete. The object gets the form of its type."""
        found = self._type_of(obj)
        completed: Object = {"kind": found.kind.kind, "apiVersion": found.kind.api_version} | json_values.copy(obj)
        if strict and self.of_custom_resource:
            raise UnpatchableError(f"request to convert CR to an invalid group/version: {self.own.kind.api_version}")
        if not found.is_of(completed):
            if self.of_custom_resource:
                return completed
            raise unregistered_kind(str(completed["kind"] or ""), str(completed["apiVersion"] or ""))
        unknown = found.codec.decode_body(completed, strict)
        if unknown:
            raise ValueError(strict_text(sorted(unknown)))
        return completed

    async def apply_configuration(self, obj: Object, configuration: Object) -> Object:
        """Implement ObjectInterfaces.apply_configuration."""
        merge_type = self._type_of(obj).merge_type
        if merge_type is None:
            raise ValueError(f"failed to convert patch object to typed object: no corresponding type for {self.own.kind}")
        return merge_configuration(merge_type(), obj, configuration)
