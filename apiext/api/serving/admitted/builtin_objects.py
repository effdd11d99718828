"""ObjectInterfaces of endpoints with Go types: built-in kinds and scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.api.admission.object_interfaces import UnpatchableError
from apiext.api.endpoints.handlers.body import strict_text, unregistered_kind
from apiext.base.meta.encoding import json_values
from apiext.base.meta.gvk import parse_group_version
from apiext.resources.managedfields.merging import merge
from apiext.resources.managedfields.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from apiext.api.admission.object_interfaces import EquivalentResource
    from apiext.api.endpoints.scopes.scope import BodyCodec
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.resources.managedfields.merge_types import MergeType


def merge_configuration(merge_type: MergeType | None, obj: Object, configuration: Object) -> Object:
    """Return an object with a configuration merged into it. The result shares members with both.

    Raises:
        ValueError: the configuration is of another kind, does not have the type, or contains values that are replaced as a whole. The
            text is the reference's.
    """
    if _kind_text(obj) != _kind_text(configuration):
        raise ValueError(f"patch ({_kind_text(configuration)}) and original object ({_kind_text(obj)}) are not of the same gvk")
    if merge_type is None:
        raise ValueError("type converter must not be nil")
    try:
        check(merge_type, configuration, foreign=True)
    except ValueError as error:
        raise ValueError(f"failed to convert patch object to typed object: {error}") from error
    if atomic := list(_atomic_paths(merge_type, configuration, "")):
        raise ValueError(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {', '.join(atomic)}")
    try:
        check(merge_type, obj, duplicates=True)
    except ValueError as error:
        raise ValueError(f"failed to convert original object to typed object: {error}") from error
    merged: Object = merge(merge_type, obj, configuration)
    return merged


def _atomic_paths(merge_type: MergeType, value: Any, path: str) -> Iterator[str]:
    """Yield the paths of values that have one owner, below declared fields."""
    if type(value) is dict and (map_type := merge_type.map) is not None:
        if map_type.atomic:
            yield path
        for name, member in value.items():
            if name in map_type.fields:
                yield from _atomic_paths(map_type.fields[name][1], member, f"{path}.{name}")
    elif type(value) is list and (list_type := merge_type.list) is not None:
        if not list_type.associative:
            yield path
        for place, item in enumerate(value):
            yield from _atomic_paths(list_type.element, item, f"{path}[{place}]")


def _kind_text(obj: Object) -> str:
    """Return a kind as the reference prints a GroupVersionKind."""
    group, version = parse_group_version(str(obj.get("apiVersion") or ""))
    return f"{group}/{version}, Kind={obj.get('kind') or ''}"


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
